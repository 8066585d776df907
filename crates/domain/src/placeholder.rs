//! Placeholders in texts of agents: `{{user.name}}`, `{{user.id}}` and `{{agent.name}}`.

use std::borrow::Cow;

/// The maximum number of characters of a value.
const VALUE_CHARACTERS: usize = 128;

/// A part of a text with placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPart<'a> {
    /// Text as it is.
    Text(&'a str),
    /// The name in `{{name}}`.
    Placeholder(&'a str),
}

/// A value that every text of an agent may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// The name of the agent.
    AgentName,
    /// The id of the user.
    UserId,
    /// The stored name of the user.
    UserName,
}

/// The values of placeholders. Absent ones are empty.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderValues<'a> {
    /// The name of the agent.
    pub agent_name: &'a str,
    /// The id of the user.
    pub user_id: Option<&'a str>,
    /// The stored name of the user.
    pub user_name: Option<&'a str>,
}

impl Placeholder {
    /// Returns the placeholder with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "agent.name" => Self::AgentName,
            "user.id" => Self::UserId,
            "user.name" => Self::UserName,
            _ => return None,
        })
    }

    /// Returns the value, without control characters.
    pub fn value<'a>(self, values: &PlaceholderValues<'a>) -> Cow<'a, str> {
        let value = match self {
            Self::AgentName => values.agent_name,
            Self::UserId => values.user_id.unwrap_or_default(),
            Self::UserName => values.user_name.unwrap_or_default(),
        };
        let is_short = self == Self::UserId || value.len() <= VALUE_CHARACTERS;
        if is_short && !value.contains(char::is_control) {
            return Cow::Borrowed(value);
        }
        let kept = value.chars().filter(|letter| !letter.is_control());
        match self {
            Self::UserId => kept.collect(),
            Self::AgentName | Self::UserName => kept.take(VALUE_CHARACTERS).collect(),
        }
    }
}

/// Fills the placeholders of a text. Values are not searched for further ones, and others than those of
/// [`Placeholder`] stay as they are.
pub fn fill<'t>(text: &'t str, values: &PlaceholderValues<'_>) -> Cow<'t, str> {
    if !text.contains("{{") {
        return Cow::Borrowed(text);
    }
    let mut filled = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            TextPart::Text(text) => filled.push_str(text),
            TextPart::Placeholder(name) => {
                if let Some(placeholder) = Placeholder::from_name(name) {
                    filled.push_str(&placeholder.value(values));
                } else {
                    filled.extend(["{{", name, "}}"]);
                }
            }
        }
    }
    Cow::Owned(filled)
}

/// Returns whether a text contains `{{user.name}}`.
pub fn names_user(text: &str) -> bool {
    let is_name = |part| matches!(part, TextPart::Placeholder(name) if name.trim() == "user.name");
    text.contains("{{") && parts(text).any(is_name)
}

/// Returns the first `{{name}}` of a text that is no placeholder of [`Placeholder`].
pub fn unknown_name(text: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    parts(text).find_map(|part| match part {
        TextPart::Placeholder(name)
            if !name.is_empty()
                && name.bytes().all(is_plain)
                && Placeholder::from_name(name).is_none() =>
        {
            Some(name)
        }
        _ => None,
    })
}

/// Splits a text at its placeholders. An unclosed one is text, and so is one after a backslash, which
/// is left out.
pub fn parts(source: &str) -> impl Iterator<Item = TextPart<'_>> {
    let mut rest = source;
    let mut next = None;
    std::iter::from_fn(move || {
        if let Some(part) = next.take() {
            return Some(part);
        }
        if rest.is_empty() {
            return None;
        }
        let Some((text, part, after)) = next_placeholder(rest) else {
            return Some(TextPart::Text(std::mem::take(&mut rest)));
        };
        rest = after;
        if text.is_empty() {
            return Some(part);
        }
        next = Some(part);
        Some(TextPart::Text(text))
    })
}

/// Returns the text before the next placeholder or escaped braces, these, and the rest. Of several
/// openings the last one counts, so that a placeholder can be within braces.
fn next_placeholder(source: &str) -> Option<(&str, TextPart<'_>, &str)> {
    let mut from = 0;
    loop {
        let open = from + source[from..].find("{{")?;
        if let Some(before) = source[..open].strip_suffix('\\') {
            let braces = &source[open..open + 2];
            return Some((before, TextPart::Text(braces), &source[open + 2..]));
        }
        let close = open + 2 + source[open + 2..].find("}}")?;
        if source[open + 1..close].contains("{{") {
            from = open + 1;
            continue;
        }
        let part = TextPart::Placeholder(&source[open + 2..close]);
        return Some((&source[..open], part, &source[close + 2..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: PlaceholderValues<'static> = PlaceholderValues {
        agent_name: "Ada",
        user_id: Some("u-1"),
        user_name: Some("{{user.id}}"),
    };

    #[test]
    fn known_placeholders_are_filled_once() {
        for (text, expected) in [
            ("", ""),
            ("I am {{agent.name}}.", "I am Ada."),
            ("{{user.name}}, {{user.id}}", "{{user.id}}, u-1"),
            ("{{{user.id}}}", "{u-1}"),
            (r"\{{user.id}} and \{{{{user.id}}", "{{user.id}} and {{u-1"),
            ("{{ user.id }} {{other}} {{", "{{ user.id }} {{other}} {{"),
            ("{{ in {{user.id}}", "{{ in u-1"),
        ] {
            assert_eq!(fill(text, &VALUES), expected, "{text}");
        }
    }

    #[test]
    fn values_are_one_line_and_names_are_cut() {
        let name = format!("A\n{}", "x".repeat(200));
        let values = PlaceholderValues {
            user_name: Some(&name),
            user_id: None,
            ..VALUES
        };
        let filled = fill("{{user.id}}{{user.name}}", &values);
        assert_eq!(filled, format!("A{}", "x".repeat(127)));
        let long = "x".repeat(300);
        let values = PlaceholderValues {
            user_id: Some(&long),
            ..VALUES
        };
        assert_eq!(fill("{{user.id}}", &values), long);
    }

    #[test]
    fn unknown_names_are_found() {
        for (text, expected) in [
            ("Hi {{user.name}} {{nmae}}", Some("nmae")),
            (r"\{{nmae}} {{ nmae }} {{}} {{a b}}", None),
            ("{{user.name}}{{agent.name}}{{user.id}}", None),
            ("{{ in {{nmae}}", Some("nmae")),
        ] {
            assert_eq!(unknown_name(text), expected, "{text}");
        }
        assert!(names_user("Hi {{user.name}}") && !names_user("Hi {{user.id}}"));
    }
}
