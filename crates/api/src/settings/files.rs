//! Settings of files.

use std::borrow::Cow;

use blob_store::BlobStoreAddress;
use clamd_scanner::ClamdAddress;
use domain::AcceptedTypes;

use super::values::Values;

const URL: &str = "FILES__URL";
const SCAN: &str = "FILES__SCAN";
const TYPES: &str = "FILES__TYPES";

const URL_FORM: &str =
    "file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix";
const SCAN_FORM: &str = "tcp://host:port or unix:/path";
const TYPES_FORM: &str = "media types that the service knows, with commas between";

/// Settings of files.
#[derive(Debug, Clone, Default)]
pub struct FileSettings {
    /// `FILES__URL`: where the contents are stored.
    pub url: Option<BlobStoreAddress>,
    /// `FILES__SCAN`: clamd, which scans the contents.
    pub scan: Option<ClamdAddress>,
    /// `FILES__TYPES`: the media types of files that are accepted.
    pub types: AcceptedTypes,
}

impl FileSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let text = values.read_optional(URL, URL_FORM, |text| Some(text.to_owned()));
        let url = text.and_then(|text| match text.parse() {
            Ok(address) => Some(address),
            Err(error) => {
                let expected: Cow<'_, str> = match error {
                    blob_store::AddressError::NoFeature(_) => {
                        format!("an address that this program can use; this one {error}").into()
                    }
                    _ => URL_FORM.into(),
                };
                values.reject(URL, &expected);
                None
            }
        });
        let types = values.read_optional(TYPES, TYPES_FORM, |text| text.parse().ok());
        let scan = values.read_optional(SCAN, SCAN_FORM, |text| text.parse().ok());
        Self {
            url,
            scan,
            types: types.unwrap_or_default(),
        }
    }
}
