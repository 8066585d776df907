//! The extractor for the content of a file, to which a link is enough.

use std::{
    future::{Ready, ready},
    ops::Range,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use domain::{FileId, ProblemCode, StoredFile};
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
    /// Finds a file.
    pub async fn find(&self, id: FileId) -> Result<StoredFile, ApiError> {
        let found = match self {
            Self::Caller(caller) => caller.files.find_stored(caller.caller(), id).await,
            Self::Link { link, services } => services.files().find_linked(link, id).await,
        };
        Ok(found?)
    }

    /// Reads a range of the content of a file.
    pub async fn read(
        &self,
        found: &StoredFile,
        range: Range<u64>,
    ) -> Result<BlobStream, ApiError> {
        let files = match self {
            Self::Caller(caller) => &caller.files,
            Self::Link { services, .. } => services.files(),
        };
        Ok(files.read(found, range).await?)
    }
}

impl FromRequest for FileReader {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(read(request, payload))
    }
}

/// Returns true if a request has a link: who has one needs no credential, and one beside it is not looked at.
pub(super) fn has_link(request: &HttpRequest) -> bool {
    QueryParameters::read(request, &[LINK]).text(LINK).is_some()
}

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
