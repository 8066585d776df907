//! Addresses of blob stores.

use std::{path::PathBuf, str::FromStr};

use object_store::path::Path;
use url::Url;

/// Where blobs are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobStoreAddress {
    /// An absolute path, which is made if it does not exist.
    Folder(PathBuf),
    /// A part of a bucket.
    Bucket {
        /// The service that has it.
        service: Service,
        /// Its name; for Azure, that of a container.
        name: String,
        /// The beginning of the names of all objects; may be empty.
        prefix: Path,
    },
}

/// A service with buckets, that this program was built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Amazon S3, or a server with its protocol.
    #[cfg(feature = "s3")]
    S3,
    /// Google Cloud Storage.
    #[cfg(feature = "gs")]
    Google,
    /// Azure Blob Storage.
    #[cfg(feature = "az")]
    Azure,
}

/// The reasons why a text is not the address of a blob store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It has another form.
    #[error(
        "must be file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
    )]
    Malformed,
    /// The path of a folder is not absolute.
    #[error("the path of a folder must be absolute, with three slashes: file:///folder")]
    RelativePath,
    /// There is something after or before bucket and prefix.
    #[error("must have no user, port, query or fragment; write %23 for # and %3F for ?")]
    Surplus,
    /// The prefix has empty segments, or ones that object stores do not allow.
    #[error("the prefix of the bucket is malformed")]
    Prefix,
    /// The service is known, but not built in.
    #[error("needs the cargo feature `{0}`, without which this program was built")]
    NoFeature(&'static str),
}

impl FromStr for BlobStoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).or(Err(AddressError::Malformed))?;
        let service = match url.scheme() {
            "file" => None,
            "s3" => Some(s3()?),
            "gs" => Some(gs()?),
            "az" => Some(az()?),
            _ => return Err(AddressError::Malformed),
        };
        let is_plain = url.username().is_empty() && url.password().is_none();
        if !is_plain || url.port().is_some() || url.query().or(url.fragment()).is_some() {
            return Err(AddressError::Surplus);
        }
        let Some(service) = service else {
            return folder(text, &url);
        };
        let name = url.host_str().filter(|it| !it.is_empty());
        Ok(Self::Bucket {
            service,
            name: name.ok_or(AddressError::Malformed)?.to_owned(),
            prefix: Path::from_url_path(url.path()).or(Err(AddressError::Prefix))?,
        })
    }
}

/// The parser of URLs takes `file:folder` for `file:///folder`.
fn folder(text: &str, url: &Url) -> Result<BlobStoreAddress, AddressError> {
    let rest = text.trim_start().get("file:".len()..).unwrap_or_default();
    if !rest.starts_with("//") {
        return Err(AddressError::RelativePath);
    }
    let path = url.to_file_path().or(Err(AddressError::RelativePath))?;
    Ok(BlobStoreAddress::Folder(path))
}

macro_rules! services {
    ($($scheme:ident $feature:literal $service:ident,)*) => {$(
        #[cfg(feature = $feature)]
        const fn $scheme() -> Result<Service, AddressError> {
            Ok(Service::$service)
        }

        #[cfg(not(feature = $feature))]
        const fn $scheme() -> Result<Service, AddressError> {
            Err(AddressError::NoFeature($feature))
        }
    )*};
}

services! {
    s3 "s3" S3,
    gs "gs" Google,
    az "az" Azure,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("file:///data/files", "/data/files")]
    #[case("file:///data/files/", "/data/files/")]
    #[case("file://localhost/data", "/data")]
    #[case("file:///", "/")]
    #[case("FILE:///data/my%20files", "/data/my files")]
    #[case("file:///data/my files", "/data/my files")]
    #[case("file:///data/100%", "/data/100%")]
    #[case("file:///data/%23%3F%25", "/data/#?%")]
    #[case("file:///data/../dätä", "/dätä")]
    fn a_folder_has_an_absolute_path(#[case] text: &str, #[case] path: &str) {
        assert_eq!(text.parse(), Ok(BlobStoreAddress::Folder(path.into())));
    }

    #[cfg(feature = "s3")]
    #[rstest]
    #[case("s3://files", "files", "")]
    #[case("s3://files/", "files", "")]
    #[case("s3://My_Files.1/a/b", "My_Files.1", "a/b")]
    #[case("s3://files/a%20b/", "files", "a b")]
    fn a_bucket_may_have_a_prefix(#[case] text: &str, #[case] name: &str, #[case] prefix: &str) {
        let expected = BlobStoreAddress::Bucket {
            service: Service::S3,
            name: name.to_owned(),
            prefix: prefix.into(),
        };
        assert_eq!(text.parse(), Ok(expected));
    }

    #[rstest]
    #[case("", AddressError::Malformed)]
    #[case("/data/files", AddressError::Malformed)]
    #[case("https://files.s3.amazonaws.com", AddressError::Malformed)]
    #[case("memory:///", AddressError::Malformed)]
    #[case("file:data", AddressError::RelativePath)]
    #[case("file:/data", AddressError::RelativePath)]
    #[case("file://data/files", AddressError::RelativePath)]
    #[case("file:///data?x=y", AddressError::Surplus)]
    #[case("file:///data#x", AddressError::Surplus)]
    fn other_texts_are_no_addresses(#[case] text: &str, #[case] error: AddressError) {
        assert_eq!(text.parse::<BlobStoreAddress>(), Err(error));
    }

    #[cfg(feature = "s3")]
    #[rstest]
    #[case("s3://", AddressError::Malformed)]
    #[case("s3:files", AddressError::Malformed)]
    #[case("s3:///prefix", AddressError::Malformed)]
    #[case("s3://user:password@files", AddressError::Surplus)]
    #[case("s3://files:9000/a", AddressError::Surplus)]
    #[case("s3://files/a//b", AddressError::Prefix)]
    fn other_texts_are_no_buckets(#[case] text: &str, #[case] error: AddressError) {
        assert_eq!(text.parse::<BlobStoreAddress>(), Err(error));
    }

    #[test]
    fn an_address_without_its_feature_is_an_error_that_names_the_feature() {
        for (address, feature, is_built_in) in [
            ("s3://files", "s3", cfg!(feature = "s3")),
            ("gs://files", "gs", cfg!(feature = "gs")),
            ("az://files", "az", cfg!(feature = "az")),
        ] {
            let read = address.parse::<BlobStoreAddress>();
            assert_eq!(read.is_ok(), is_built_in, "{address}");
            if let Err(error) = read {
                assert_eq!(error, AddressError::NoFeature(feature));
                assert!(error.to_string().contains(&format!("`{feature}`")));
            }
        }
    }
}
