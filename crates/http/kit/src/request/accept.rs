//! Content negotiation.

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};

/// Returns true if `Accept` allows `media_type`, or the problem that may be returned in its place.
pub fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut has_range = false;
    for value in headers.get_all(ACCEPT) {
        // A header that is not text is ignored.
        let Ok(value) = value.to_str() else {
            return true;
        };
        for range in value.split(',') {
            has_range = true;
            if fits(range, media_type) {
                return true;
            }
        }
    }
    !has_range
}

fn fits(range: &str, media_type: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let rejected = parts.any(|parameter| {
        let quality = parameter
            .strip_prefix("q=")
            .or(parameter.strip_prefix("Q="));
        quality
            .and_then(|quality| quality.parse::<f32>().ok())
            .is_some_and(|quality| quality <= 0.0)
    });
    if rejected {
        return false;
    }
    let kind = media_type.split('/').next().unwrap_or_default();
    name.is_empty() || name == "*/*" || name == media_type || name == format!("{kind}/*")
}

/// Returns true if a list of values with parameters contains `wanted` by its full name, without
/// `q=0`.
pub fn lists(headers: &HeaderMap, header: HeaderName, wanted: &str) -> bool {
    headers
        .get_all(header)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| {
            let mut parts = item.split(';').map(str::trim);
            parts
                .next()
                .is_some_and(|it| it.eq_ignore_ascii_case(wanted))
                && !parts
                    .any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn ranges_and_qualities_are_evaluated() {
        let cases = [
            ("application/json", true),
            ("*/*", true),
            ("application/*;q=0.1", true),
            ("text/html, application/xhtml+xml, */*;q=0.8", true),
            ("text/html", false),
            ("application/json;q=0", false),
            ("APPLICATION/JSON; charset=utf-8", true),
        ];
        for (accept, fits) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts(&headers, "application/json"), fits, "{accept}");
        }
        assert!(accepts(&HeaderMap::new(), "application/json"));
    }
}
