//! Addresses that the operator gives, and what they tell.

use domain::web_address::is_proxy_address;
use reqwest::Url;

use crate::options::LlmOptionsError;

/// The path below a base URL where questions are put.
pub(crate) const QUESTIONS: [&str; 2] = ["chat", "completions"];

/// Whether the base URL is that of one deployment at Azure, the older form of its API: there a
/// bearer token is no key, and keys have a header of their own.
pub(crate) fn is_deployment(base: &Url) -> bool {
    let mut segments = base.path_segments().into_iter().flatten();
    segments.any(|segment| segment == "openai") && segments.next() == Some("deployments")
}

/// Reads a base URL. Many servers show their users where questions are put, so that this is taken
/// for the base URL, too.
pub(crate) fn base_url(text: &str) -> Result<Url, LlmOptionsError> {
    let mut url = Url::parse(text).map_err(|_fault| LlmOptionsError::BaseUrl)?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || has_user || url.fragment().is_some() {
        return Err(LlmOptionsError::BaseUrl);
    }
    let path = url.path().trim_end_matches('/');
    if let Some(base) = path.strip_suffix(&format!("/{}", QUESTIONS.join("/"))) {
        let base = base.to_owned();
        url.set_path(&base);
    }
    Ok(url)
}

/// What stands below a base URL; its query stays.
pub(crate) fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Reads the address of a proxy.
pub(crate) fn proxy_url(text: &str) -> Result<Url, LlmOptionsError> {
    // The standard for addresses passes over line breaks and the like.
    let is_good = is_proxy_address(text);
    let url = Url::parse(text).ok().filter(|_| is_good);
    url.ok_or(LlmOptionsError::Proxy)
}

/// `OpenAI` refuses the old name for its newer models, and takes the new one for all; most other
/// servers know the old one alone.
pub(crate) fn wants_completion_tokens(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let is_of = |domain: &str| {
        let rest = host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    is_of("api.openai.com") || is_of("openai.azure.com")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://api.openai.com/v1", true)]
    #[case("https://API.OpenAI.com/v1", true)]
    #[case("https://eu.api.openai.com/v1", true)]
    #[case("https://mine.openai.azure.com/openai/v1", true)]
    #[case("https://api.openai.com.example/v1", false)]
    #[case("https://notapi.openai.com/v1", false)]
    #[case("https://myopenai.azure.com/v1", false)]
    #[case("http://127.0.0.1:11434/v1", false)]
    #[case("https://api.anthropic.com/v1", false)]
    fn knows_who_calls_the_most_tokens_by_their_new_name(#[case] base: &str, #[case] new: bool) {
        assert_eq!(wants_completion_tokens(&base_url(base).unwrap()), new);
    }

    #[rstest]
    #[case("https://a.example/v1/chat/completions", "https://a.example/v1")]
    #[case("https://a.example/v1/chat/completions/", "https://a.example/v1")]
    #[case("https://a.example/chat/completions", "https://a.example/")]
    #[case(
        "https://a.example/openai/deployments/b/chat/completions?api-version=1",
        "https://a.example/openai/deployments/b?api-version=1"
    )]
    #[case("https://a.example/v1/completions", "https://a.example/v1/completions")]
    #[case("https://a.example/v1/", "https://a.example/v1/")]
    #[case("https://a.example", "https://a.example/")]
    fn the_address_of_questions_is_understood(#[case] given: &str, #[case] expected: &str) {
        assert_eq!(base_url(given).unwrap().as_str(), expected);
    }

    #[rstest]
    #[case("http://proxy.internal:3128", true)]
    #[case("https://ada:word@proxy.internal", true)]
    #[case("http://proxy\n.internal", false)]
    #[case(" http://proxy.internal", false)]
    #[case("http://ada#@proxy.internal", false)]
    fn knows_a_proxy(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(proxy_url(text).is_ok(), expected);
    }
}
