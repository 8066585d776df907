//! The extractor for the content of a file, to which a link is enough.

use std::{
    future::{Ready, ready},
    ops::Range,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use domain::{File, FileId, ProblemCode};
use ports::BlobStream;

use super::authorized::{Authorized, SealedServices, TurnsRead};
use crate::{problem::ApiError, request::QueryParameters};

/// The parameter with a link.
const LINK: &str = "link";

/// Whoever reads the content of a file.
pub enum FileReader {
    /// A caller.
    Caller(Authorized<TurnsRead>),
    /// Someone with a link.
    Link {
        /// The link.
        link: String,
        /// The use cases.
        services: SealedServices,
    },
}

impl FileReader {
    /// Returns a file and its content, or a range of that which `range` chooses by the size.
    pub async fn content(
        &self,
        id: FileId,
        range: impl FnOnce(&File) -> Range<u64>,
    ) -> Result<(File, BlobStream), ApiError> {
        let found = match self {
            Self::Caller(caller) => caller.files.content(caller.caller(), id, range).await,
            Self::Link { link, services } => services.files().linked_content(link, id, range).await,
        };
        Ok(found?)
    }
}

impl FromRequest for FileReader {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(read(request, payload))
    }
}

/// A link decides alone: who has one needs no credential.
fn read(request: &HttpRequest, payload: &mut Payload) -> Result<FileReader, ApiError> {
    let query = QueryParameters::read(request, &[LINK]);
    let link = query.text(LINK).map(ToOwned::to_owned);
    let Some(link) = link else {
        let caller = Authorized::from_request(request, payload).into_inner()?;
        query.finish()?;
        return Ok(FileReader::Caller(caller));
    };
    query.finish()?;
    let services = request.app_data::<SealedServices>().cloned();
    let services = services.ok_or(ApiError::new(ProblemCode::Internal))?;
    Ok(FileReader::Link { link, services })
}
