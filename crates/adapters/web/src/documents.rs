//! The port: asking, and reading the answer.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use ports::{BoxError, DocumentError, DocumentSource, NamedBy, document_source::LARGEST_DOCUMENT};
use reqwest::{Response, StatusCode, Url, header};
use serde_json::Value;
use tokio::{sync::OnceCell, task::spawn_blocking, time::timeout};

use crate::{
    clients::Clients,
    permission::{AllowedHosts, Reach},
    resolver::NotPublic,
};

/// How long a server may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Until there is a connection, encryption included.
    pub connect: Duration,
    /// Until everything is there.
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

/// Fetches documents by HTTP, each time anew.
pub struct WebDocuments {
    allowed_hosts: AllowedHosts,
    deadlines: Deadlines,
    /// Made when first used: most services never ask, and a machine without certificates should
    /// still run those.
    clients: OnceCell<Clients>,
}

impl WebDocuments {
    /// Tenants may also name `allowed_hosts`, by https and http, wherever they are: each is `host`,
    /// which means the scheme's own port, or `host:port`.
    pub fn new(allowed_hosts: Vec<String>) -> Self {
        Self {
            allowed_hosts: AllowedHosts::new(allowed_hosts),
            deadlines: Deadlines::default(),
            clients: OnceCell::new(),
        }
    }

    /// With other deadlines than three seconds to connect and ten in all.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    async fn get(&self, url: Url, reach: Reach) -> Result<Value, DocumentError> {
        let request = self
            .clients()
            .await?
            .reaching(reach)
            .get(url)
            .header(header::ACCEPT, "application/json");
        let answer = request.send().await.map_err(from_reqwest)?;
        if answer.status() != StatusCode::OK {
            let status = answer.status().as_u16();
            return Err(DocumentError::BadAnswer(format!("its status is {status}")));
        }
        let body = read(answer).await?;
        serde_json::from_slice(&body).map_err(|_fault| bad_answer("it is not JSON"))
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
    async fn fetch(&self, url: &str, named_by: NamedBy) -> Result<Value, DocumentError> {
        let url = Url::parse(url).map_err(|_fault| DocumentError::Forbidden)?;
        let reach = self.allowed_hosts.permit(&url, named_by);
        let reach = reach.ok_or(DocumentError::Forbidden)?;
        match timeout(self.deadlines.total, self.get(url, reach)).await {
            Ok(outcome) => outcome,
            Err(elapsed) => Err(DocumentError::Unavailable(elapsed.into())),
        }
    }
}

/// Reads the body, and no more of it than a document may have.
async fn read(mut answer: Response) -> Result<Vec<u8>, DocumentError> {
    let too_large = || bad_answer("it is too large");
    let announced = answer.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |length| length > LARGEST_DOCUMENT) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(from_reqwest)? {
        if body.len() + part.len() > LARGEST_DOCUMENT {
            return Err(too_large());
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

fn bad_answer(what: &str) -> DocumentError {
    DocumentError::BadAnswer(what.to_owned())
}

fn from_reqwest(error: reqwest::Error) -> DocumentError {
    if comes_from_not_public(&error) {
        return DocumentError::Forbidden;
    }
    // An address can hold a secret, and the log has no need of it.
    DocumentError::Unavailable(error.without_url().into())
}

fn comes_from_not_public(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<NotPublic>() {
            return true;
        }
        cause = error.source();
    }
    false
}
