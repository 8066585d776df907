//! Parsing and inspection of the URLs that the operator configures.

use domain::web_address::{is_proxy_address, is_web_address};
use reqwest::Url;

use crate::options::LlmOptionsError;

/// Returns whether the base URL belongs to one Azure deployment (the older form of its API). Such
/// servers expect API keys in a header of their own, not as a bearer token.
pub(crate) fn is_azure_deployment(base: &Url) -> bool {
    let mut segments = base.path_segments().into_iter().flatten();
    segments.any(|segment| segment == "openai") && segments.next() == Some("deployments")
}

/// Parses a base URL. The full URL of requests, which have this path below it, is accepted, too: many servers show
/// it to their users.
pub(crate) fn base_url(text: &str, request_path: &[&str]) -> Result<Url, LlmOptionsError> {
    let parsed = Url::parse(text).ok().filter(|_| is_web_address(text));
    let mut url = parsed.ok_or(LlmOptionsError::BaseUrl)?;
    let path = url.path().trim_end_matches('/');
    if let Some(base) = path.strip_suffix(&format!("/{}", request_path.join("/"))) {
        let base = base.to_owned();
        url.set_path(&base);
    }
    Ok(url)
}

/// Returns the URL of a path below a base URL. The query of the base URL is kept.
pub(crate) fn append_path(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Parses the URL of a proxy.
pub(crate) fn proxy_url(text: &str) -> Result<Url, LlmOptionsError> {
    // The URL parser ignores line breaks and surrounding white space, so they are checked first.
    let is_valid = is_proxy_address(text);
    let url = Url::parse(text).ok().filter(|_| is_valid);
    url.ok_or(LlmOptionsError::Proxy)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::openai;

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
    fn the_url_of_chat_completions_is_a_base_url(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(base_url(text, &openai::PATH).unwrap().as_str(), expected);
    }

    #[rstest]
    #[case("http://proxy.internal:3128", true)]
    #[case("https://ada:word@proxy.internal", true)]
    #[case("http://proxy\n.internal", false)]
    #[case(" http://proxy.internal", false)]
    #[case("http://ada#@proxy.internal", false)]
    fn proxy_urls_are_checked(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(proxy_url(text).is_ok(), expected);
    }
}
