//! The implementation of the port.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use domain::FileName;
use ports::{
    BoxError, DocumentError, DocumentSource, UrlTrust, WebFile, WebFileSource,
    document_source::MAX_DOCUMENT_BYTES,
};
use reqwest::{Response, StatusCode, Url, header};
use serde_json::Value;
use tokio::{sync::OnceCell, task::spawn_blocking, time::timeout};

use crate::{
    clients::Clients,
    permission::{AllowedHosts, Permissions, ReachableAddresses},
    resolver::NotPublic,
};

/// The time limits of a fetch.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Limit for connecting, including TLS.
    pub connect: Duration,
    /// Limit for the whole fetch.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            total: Duration::from_secs(10),
        }
    }
}

/// Fetches documents and files over HTTP, without a cache.
pub struct WebDocuments {
    permissions: Permissions,
    deadlines: Deadlines,
    /// Built at first use: most services fetch nothing, and run on machines without root
    /// certificates.
    clients: OnceCell<Clients>,
}

impl WebDocuments {
    /// Creates a source. Tenants may use `allowed_hosts` over https and http, even if they are not
    /// public. Each is `host`, with the default port of the scheme, or `host:port`.
    pub fn new(allowed_hosts: Vec<String>) -> Self {
        Self {
            permissions: Permissions {
                of_tenants: AllowedHosts::new(allowed_hosts),
                insecure: AllowedHosts::new(Vec::new()),
            },
            deadlines: Deadlines::default(),
            clients: OnceCell::new(),
        }
    }

    /// Permits plain http for URLs of the operator at these hosts. Each is `host`, with the default
    /// port, or `host:port`.
    #[must_use]
    pub fn with_insecure_hosts(mut self, hosts: Vec<String>) -> Self {
        self.permissions.insecure = AllowedHosts::new(hosts);
        self
    }

    /// Replaces the default deadlines of 3 s to connect and 10 s in total.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    fn permit(&self, url: &str, trust: UrlTrust) -> Option<(Url, ReachableAddresses)> {
        let url = Url::parse(url).ok()?;
        let reach = self.permissions.permit(&url, trust)?;
        Some((url, reach))
    }

    async fn get(&self, url: Url, reach: ReachableAddresses) -> Result<Value, DocumentError> {
        let response = self.respond(url, reach, "application/json").await?;
        let body = read(response, MAX_DOCUMENT_BYTES).await?;
        serde_json::from_slice(&body).map_err(|_error| bad_answer("it is not JSON"))
    }

    async fn get_file(
        &self,
        url: Url,
        reach: ReachableAddresses,
        max_bytes: usize,
    ) -> Result<WebFile, DocumentError> {
        let last = url.path_segments().and_then(|mut all| all.next_back());
        // Names of other letters are escaped in addresses.
        let of_address = last.filter(|it| !it.contains('%')).and_then(FileName::new);
        let response = self.respond(url, reach, "*/*").await?;
        let header = |name| response.headers().get(name);
        let media_type = header(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|it| it.to_str().ok().map(str::to_owned));
        let disposition = header(header::CONTENT_DISPOSITION);
        let name = disposition.and_then(|it| FileName::from_disposition(it.as_bytes()));
        Ok(WebFile {
            media_type,
            name: name.or(of_address),
            content: read(response, max_bytes).await?,
        })
    }

    /// Sends a request. Any status but 200 is an error.
    async fn respond(
        &self,
        url: Url,
        reach: ReachableAddresses,
        accept: &'static str,
    ) -> Result<Response, DocumentError> {
        let client = self.clients().await?.for_addresses(reach);
        let request = client.get(url).header(header::ACCEPT, accept);
        let response = request.send().await.map_err(from_reqwest)?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let status = response.status().as_u16();
        Err(DocumentError::InvalidResponse(format!(
            "its status is {status}"
        )))
    }

    async fn clients(&self) -> Result<&Clients, DocumentError> {
        let connect = self.deadlines.connect;
        let build = || async move {
            let built = spawn_blocking(move || Clients::build(connect)).await;
            built.map_err(BoxError::from)?.map_err(BoxError::from)
        };
        let clients = self.clients.get_or_try_init(build).await;
        clients.map_err(DocumentError::Unavailable)
    }
}

#[async_trait]
impl DocumentSource for WebDocuments {
    fn is_allowed(&self, url: &str, trust: UrlTrust) -> bool {
        self.permit(url, trust).is_some()
    }

    async fn fetch(&self, url: &str, trust: UrlTrust) -> Result<Value, DocumentError> {
        let (url, reach) = self.permit(url, trust).ok_or(DocumentError::Forbidden)?;
        match timeout(self.deadlines.total, self.get(url, reach)).await {
            Ok(outcome) => outcome,
            Err(elapsed) => Err(DocumentError::Unavailable(elapsed.into())),
        }
    }
}

#[async_trait]
impl WebFileSource for WebDocuments {
    async fn fetch_file(&self, url: &str, max_bytes: usize) -> Result<WebFile, DocumentError> {
        let permitted = self.permit(url, UrlTrust::Tenant);
        let (url, reach) = permitted.ok_or(DocumentError::Forbidden)?;
        let fetching = self.get_file(url, reach, max_bytes);
        match timeout(self.deadlines.total, fetching).await {
            Ok(outcome) => outcome,
            Err(elapsed) => Err(DocumentError::Unavailable(elapsed.into())),
        }
    }
}

/// Reads the body, up to a maximum size.
async fn read(mut response: Response, max: usize) -> Result<Vec<u8>, DocumentError> {
    let too_large = || bad_answer("it is too large");
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |length| length > max) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(from_reqwest)? {
        if body.len() + part.len() > max {
            return Err(too_large());
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

fn bad_answer(reason: &str) -> DocumentError {
    DocumentError::InvalidResponse(reason.to_owned())
}

fn from_reqwest(error: reqwest::Error) -> DocumentError {
    if is_caused_by_not_public(&error) {
        return DocumentError::Forbidden;
    }
    // A URL can contain a secret, and the log does not need it.
    DocumentError::Unavailable(error.without_url().into())
}

fn is_caused_by_not_public(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<NotPublic>() {
            return true;
        }
        cause = error.source();
    }
    false
}
