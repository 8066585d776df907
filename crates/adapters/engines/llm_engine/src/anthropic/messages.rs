//! The messages of a request.
//!
//! The API caches a request up to each mark (`cache_control`). There may be four marks: the end of the tools, the end of what
//! all users of an agent share in the system message, the new message of the user and the last result of a tool.
//! The mark of one turn is found in the next one, as long as at most 20 blocks are between them, so the message of
//! the user stays marked after it.

use std::borrow::Cow;

use domain::{FileKind, FileReference, Role, ToolStep};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    base64_text::Base64Text,
    prompt::{Content, Part, Prompt, Step},
    step_state,
};

/// A message. Neighbours have different roles.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: Vec<MarkedBlock<'a>>,
}

#[derive(Serialize)]
struct MarkedBlock<'a> {
    #[serde(flatten)]
    block: Block<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        title: &'a str,
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Value,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: String,
    },
    /// A block of the model, as it was received.
    #[serde(untagged)]
    Kept(Map<String, Value>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Source<'a> {
    Base64 {
        media_type: &'a str,
        data: Base64Text<'a>,
    },
}

/// A part of the system message.
#[derive(Serialize)]
pub(super) struct TextBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// The mark of a block up to which a request is cached.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum CacheControl {
    Ephemeral,
}

/// Returns the system message: what all users of the agent share, and the rest.
pub(super) fn system(prompt: &Prompt) -> Vec<TextBlock<'_>> {
    if !prompt.has_system_role {
        return Vec::new();
    }
    let (shared, own) = prompt.system.split_at(prompt.shared_bytes);
    let block = |text, cache_control| TextBlock {
        kind: "text",
        text,
        cache_control,
    };
    let own = own.trim_start();
    let own = (!own.is_empty()).then(|| block(own, None));
    [block(shared, Some(CacheControl::Ephemeral))]
        .into_iter()
        .chain(own)
        .collect()
}

/// Returns the messages.
pub(super) fn messages(prompt: &Prompt) -> Vec<Message<'_>> {
    let mut messages = Messages::default();
    let parts = prompt.parts();
    let is_text = |part: &Part<'_>| matches!(part, Part::Text(..));
    let newest = parts.iter().rposition(is_text);
    for (position, part) in parts.into_iter().enumerate() {
        match part {
            Part::Text(Role::Agent, text, _) => messages.add_reply(text),
            Part::Text(_, text, files) => messages.add_content(prompt.content(text, &files)),
            Part::Step(step) => messages.add_step(&step),
        }
        if Some(position) == newest {
            messages.mark();
        }
    }
    messages.mark();
    messages.0
}

/// The messages so far.
#[derive(Default)]
struct Messages<'a>(Vec<Message<'a>>);

impl<'a> Messages<'a> {
    /// Adds a block to the last message, or to a new one for another role.
    fn add(&mut self, role: &'static str, block: Block<'a>) {
        let block = MarkedBlock {
            block,
            cache_control: None,
        };
        match self.0.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            _ => self.0.push(Message {
                role,
                content: vec![block],
            }),
        }
    }

    /// Adds a text, unless it is blank: such texts are refused.
    fn add_text(&mut self, role: &'static str, text: Cow<'a, str>) {
        if !text.trim().is_empty() {
            self.add(role, Block::Text { text });
        }
    }

    /// Adds a text of the model. White space at the end of the last one is refused.
    fn add_reply(&mut self, text: Cow<'a, str>) {
        let text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        self.add_text("assistant", text);
    }

    /// Adds a content of the user.
    fn add_content(&mut self, content: Content<'a>) {
        for (file, bytes) in content.files {
            if let Some(block) = file_block(file, bytes) {
                self.add("user", block);
            }
        }
        self.add_text("user", content.text);
    }

    /// Adds the message with the calls of a step, and the one with their results.
    fn add_step(&mut self, part: &Step<'a>) {
        let text = &part.step.response.text;
        let mut calls = part.calls().enumerate().peekable();
        let mut from = 0;
        // Reasoning of earlier turns may be left out.
        let kept = part.is_current.then(|| step_state::blocks(part.step));
        for kept in kept.into_iter().flatten() {
            if let Some(before) = text.get(from..kept.text_bytes) {
                self.add_reply(Cow::Borrowed(before));
                from = kept.text_bytes;
            }
            while let Some((_, (id, call))) = calls.next_if(|(index, _)| *index < kept.calls) {
                self.add("assistant", call_block(id, call));
            }
            self.add("assistant", Block::Kept(kept.block));
        }
        self.add_reply(Cow::Borrowed(&text[from..]));
        for (_, (id, call)) in calls {
            self.add("assistant", call_block(id, call));
        }
        for (id, call) in part.calls() {
            let result = Block::ToolResult {
                tool_use_id: accepted_id(id),
                content: call.answer(),
            };
            self.add("user", result);
        }
    }

    /// Marks the last block.
    fn mark(&mut self) {
        let last = self.0.last_mut().and_then(|last| last.content.last_mut());
        if let Some(last) = last {
            last.cache_control = Some(CacheControl::Ephemeral);
        }
    }
}

fn call_block<'a>(id: Cow<'a, str>, call: &'a ToolStep) -> Block<'a> {
    let input = serde_json::from_str(&call.arguments).ok();
    Block::ToolUse {
        id: accepted_id(id),
        name: &call.function,
        // Arguments that are no object were a mistake, which the result names.
        input: input.filter(Value::is_object).unwrap_or_else(|| json!({})),
    }
}

/// Returns an id in the characters that the interface accepts. Ids of other servers may have others.
fn accepted_id(id: Cow<'_, str>) -> Cow<'_, str> {
    let is_accepted = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    if id.chars().all(is_accepted) {
        return id;
    }
    id.replace(|it| !is_accepted(it), "_").into()
}

fn file_block<'a>(file: &'a FileReference, bytes: &'a [u8]) -> Option<Block<'a>> {
    let source = || Source::Base64 {
        media_type: file.media_type.as_str(),
        data: Base64Text::new(bytes),
    };
    match file.media_type.kind()? {
        FileKind::Image => Some(Block::Image { source: source() }),
        FileKind::Pdf => Some(Block::Document {
            title: &file.name,
            source: source(),
        }),
        FileKind::Audio | FileKind::Text => None,
    }
}
