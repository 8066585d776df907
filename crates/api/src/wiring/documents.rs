//! The published documents, and the validators that are compiled from them. Both are built when
//! they are first used: while the OpenAPI document is being generated it takes 10 MiB, which a
//! process at rest does not need.

use ::documents::{Console, Documents, asyncapi, openapi};
use anyhow::Result;
use kit::{body::Schemas, state::Lazy};
use serde_json::Value;
use socket::frames;

use crate::settings::Settings;

/// Returns the documents of a server that clients reach at `url`.
pub(super) fn documents(settings: &Settings, url: &str) -> Lazy<Documents> {
    let own_url = url.to_owned();
    from_openapi(settings, url, move |openapi| {
        let asyncapi = asyncapi::document(openapi, &own_url)?;
        Ok(Documents::new(openapi, &asyncapi))
    })
}

/// Returns the validators of everything that clients send.
pub(super) fn schemas(settings: &Settings, url: &str) -> Lazy<Schemas> {
    from_openapi(settings, url, |openapi| {
        let document = frames::document(openapi)?;
        let bodies = openapi::BODIES.iter().copied();
        let names: Vec<&str> = bodies.chain(frames::components()).collect();
        Ok(Schemas::new(&document, &names)?)
    })
}

/// Returns the console of a server whose public URL has the path `base_path`.
pub(super) fn console(settings: &Settings, base_path: &str) -> Option<Lazy<Console>> {
    let base_path = base_path.to_owned();
    let build = move || Console::new(&base_path);
    settings
        .console
        .is_enabled
        .then(|| Lazy::new(Box::new(build) as Box<dyn FnOnce() -> Console + Send>))
}

/// Builds a value from the OpenAPI document, which is then dropped. Tests prove that it can be
/// built: it depends on the configuration only for numbers and the URL.
fn from_openapi<T>(
    settings: &Settings,
    url: &str,
    build: impl FnOnce(&Value) -> Result<T> + Send + 'static,
) -> Lazy<T> {
    let (sizes, url) = (settings.limits.sizes.clone(), url.to_owned());
    Lazy::new(Box::new(move || {
        let document = openapi::document(&sizes, &url).map_err(Into::into);
        document
            .and_then(|document| build(&document))
            .unwrap_or_else(|error| panic!("the published documents are inconsistent: {error:#}"))
    }))
}
