//! The parts of a message that are files.

use application::chat::{AttachedFile, FilePart, HeldMemory, WebAddress};
use domain::{FaultCode, FileId, InputFault};
use kit::{problem::ApiError, state::HttpState};

/// Returns the file of this service whose content is at an address.
pub(crate) type OwnFile<'a> = &'a dyn Fn(&str) -> Option<FileId>;

/// The files of a message, with their places in the body of the request.
#[derive(Debug, Default)]
pub(crate) struct FileParts {
    parts: Vec<FilePart>,
    places: Places,
}

/// The places of files in the body of a request, as JSON Pointers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Places(Vec<String>);

impl FileParts {
    /// Adds the file at `place`.
    pub(crate) fn push(&mut self, place: impl Into<String>, part: FilePart) {
        self.parts.push(part);
        self.places.0.push(place.into());
    }

    /// Adds the file at `place` with this address.
    pub(crate) fn push_address(
        &mut self,
        place: impl Into<String>,
        address: Address,
        own_file: OwnFile<'_>,
    ) -> Result<(), InputFault> {
        let place = place.into();
        match address.into_part(own_file) {
            Ok(part) => {
                self.push(place, part);
                Ok(())
            }
            Err((code, detail)) => Err(InputFault::new(place, code, detail)),
        }
    }

    /// Reads the files. Their contents hold `memory`.
    pub(crate) async fn read(
        self,
        state: &HttpState,
        memory: Option<HeldMemory>,
    ) -> Result<(Vec<AttachedFile>, Places), ApiError> {
        let max_bytes = state.bodies.sizes.file_bytes;
        let read = AttachedFile::read(self.parts, max_bytes, memory).await;
        match read {
            Ok(files) => Ok((files, self.places)),
            Err(error) => Err(self.places.locate(error.into())),
        }
    }
}

impl Places {
    /// Returns an error with the places of the files that it is about.
    pub(crate) fn locate(&self, mut error: ApiError) -> ApiError {
        for fault in &mut error.faults {
            let index = fault.pointer.as_deref();
            let index = index.and_then(|it| it.strip_prefix("/files/")?.parse::<usize>().ok());
            if let Some(place) = index.and_then(|index| self.0.get(index)) {
                fault.pointer = Some(place.clone());
            }
        }
        error
    }
}

/// The address of a file, as clients send it.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) media_type: Option<String>,
    pub(crate) name: Option<String>,
}

impl Address {
    fn into_part(self, own_file: OwnFile<'_>) -> Result<FilePart, (FaultCode, String)> {
        let Self {
            mut url,
            media_type,
            name,
        } = self;
        if let Some(id) = own_file(&url) {
            return Ok(FilePart::Stored(id));
        }
        let scheme = url.get(..5).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("data:") {
            let start = url.get(..8).unwrap_or_default().to_ascii_lowercase();
            let is_web = start == "https://" || start.starts_with("http://");
            let address = WebAddress {
                url,
                media_type,
                name,
            };
            let detail = "must be a data URL or an https URL";
            return if is_web {
                Ok(FilePart::Web(address))
            } else {
                Err((FaultCode::BadFormat, detail.to_owned()))
            };
        }
        let head = url.find(',').and_then(|comma| {
            let head = url.get(5..comma)?;
            let (declared, encoding) = head.rsplit_once(';')?;
            let is_base64 = encoding.eq_ignore_ascii_case("base64");
            is_base64.then(|| (declared.to_owned(), comma))
        });
        let Some((declared, comma)) = head else {
            let detail = "must be a data URL with base64";
            return Err((FaultCode::BadFormat, detail.to_owned()));
        };
        url.drain(..=comma);
        Ok(FilePart::Data {
            media_type: Some(declared).filter(|it| !it.is_empty()).or(media_type),
            name,
            base64: url,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1f84a-95c1-7000-8000-000000000001";

    fn part(url: &str) -> Result<FilePart, (FaultCode, String)> {
        let address = Address {
            url: url.to_owned(),
            media_type: Some("image".to_owned()),
            name: None,
        };
        address.into_part(&|url| (url == "https://chat.example/file").then(|| ID.parse().unwrap()))
    }

    #[test]
    fn data_urls_are_split() {
        for (url, expected) in [
            ("data:image/png;base64,AAAA", ("image/png", "AAAA")),
            ("DATA:;base64,", ("image", "")),
            (
                "data:text/plain;charset=utf-8;base64,YQ==",
                ("text/plain;charset=utf-8", "YQ=="),
            ),
        ] {
            let Ok(FilePart::Data {
                media_type, base64, ..
            }) = part(url)
            else {
                panic!("{url}");
            };
            assert_eq!(
                (media_type.as_deref(), &*base64),
                (Some(expected.0), expected.1)
            );
        }
        for url in [
            "data:image/png,abc",
            "data:",
            "ftp://host/x",
            "",
            "data:;base64",
        ] {
            assert_eq!(part(url).unwrap_err().0, FaultCode::BadFormat, "{url}");
        }
    }

    #[test]
    fn addresses_of_this_service_name_its_files() {
        let of_service = part("https://chat.example/file");
        assert!(matches!(of_service, Ok(FilePart::Stored(_))));
        let of_others = part("https://other.example/file");
        assert!(matches!(of_others, Ok(FilePart::Web(_))));
    }

    #[test]
    fn faults_are_located() {
        let mut parts = FileParts::default();
        parts.push("/messages/1/parts/2", FilePart::Stored(ID.parse().unwrap()));
        let error = ApiError::invalid("/files/0", FaultCode::BadFormat, "x");
        let located = parts.places.locate(error);
        assert_eq!(
            located.faults[0].pointer.as_deref(),
            Some("/messages/1/parts/2")
        );
    }
}
