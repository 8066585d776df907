//! Links to the contents of files, which need no credential.

use std::{fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;

use crate::{FileId, TenantId, Timestamp, web_address};

/// The time for which a link is valid.
pub const LINK_LIFE: Duration = Duration::from_hours(1);

const SECRET_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 32;
const TIME_BYTES: usize = 8;

/// A link to the content of a file.
// A secret, so it has no `Debug`.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileLink {
    /// The address of the content, which needs no credential.
    #[cfg_attr(
        feature = "schema",
        schema(
            example = "https://agents.example.org/api/files/01a1f84a-95c1-7000-8000-000000000001/content?link=…"
        )
    )]
    pub url: String,
    /// The time until which it is valid. It ends with the file.
    pub expires_at: Timestamp,
}

/// The secret of a store, with which its links are signed. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSecret([u8; SECRET_BYTES]);

impl LinkSecret {
    /// Wraps random bytes.
    pub const fn new(random: [u8; SECRET_BYTES]) -> Self {
        Self(random)
    }

    /// Returns the bytes, for the store.
    pub const fn reveal(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// Signs the parameter `link` of an address: the end, the signature and the tenant.
    pub fn sign(&self, tenant: &TenantId, file: FileId, expires_at: Timestamp) -> String {
        let time = expires_at.milliseconds().to_be_bytes();
        let signature = self.signature(tenant.as_str().as_bytes(), file, time);
        let signature = signature.finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([&time[..], &signature[..], tenant.as_str().as_bytes()].concat())
    }

    /// Returns the tenant of the file for which a link is valid at `now`.
    pub fn verify(&self, link: &str, file: FileId, now: Timestamp) -> Option<TenantId> {
        let bytes = URL_SAFE_NO_PAD.decode(link).ok()?;
        let (time, rest) = bytes.split_first_chunk::<TIME_BYTES>()?;
        let (signature, tenant) = rest.split_first_chunk::<SIGNATURE_BYTES>()?;
        let expected = self.signature(tenant, file, *time);
        expected.verify_slice(signature).ok()?;
        let expires_at = Timestamp::from_milliseconds(i64::from_be_bytes(*time));
        let tenant = str::from_utf8(tenant).ok()?.parse().ok()?;
        (now < expires_at).then_some(tenant)
    }

    fn signature(&self, tenant: &[u8], file: FileId, time: [u8; TIME_BYTES]) -> Hmac<Sha256> {
        let hmac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut hmac = hmac.expect("HMAC takes keys of any length");
        // All but the last part have a fixed length.
        for part in [&time[..], file.uuid().as_bytes(), tenant] {
            hmac.update(part);
        }
        hmac
    }
}

impl fmt::Debug for LinkSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LinkSecret(…)")
    }
}

/// Returns the path of the content of a file.
pub fn content_path(file: FileId) -> String {
    format!("/api/files/{file}/content")
}

/// Returns the file whose content is at this address of one of our servers, whatever its query.
pub fn file_of_address<'a>(
    address: &str,
    servers: impl IntoIterator<Item = &'a str>,
) -> Option<FileId> {
    let origin = web_address::origin_of(address)?;
    let path = web_address::path_of(address);
    let is_of = |server: &&str| web_address::origin_of(server).is_some_and(|it| it == origin);
    let mut servers = servers.into_iter().filter(is_of);
    servers.find_map(|server| {
        let below = path.strip_prefix(&*web_address::path_of(server))?;
        let id = below.strip_prefix("/api/files/")?;
        let id = id.strip_suffix("/content")?.to_ascii_lowercase();
        id.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const END: Timestamp = Timestamp::from_milliseconds(3_600_000);

    fn id(number: u128) -> FileId {
        FileId::new(Uuid::from_u128(number))
    }

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_milliseconds(milliseconds)
    }

    #[test]
    fn a_link_is_valid_for_its_file_until_its_end() {
        let (secret, tenant) = (LinkSecret::new([7; 32]), "acme".parse().unwrap());
        let link = secret.sign(&tenant, id(1), END);
        assert_eq!(secret.verify(&link, id(1), at(0)), Some(tenant.clone()));
        assert_eq!(secret.verify(&link, id(1), at(3_599_999)), Some(tenant));
        assert_eq!(secret.verify(&link, id(1), END), None);
        assert_eq!(secret.verify(&link, id(2), at(0)), None);
        assert_eq!(LinkSecret::new([8; 32]).verify(&link, id(1), at(0)), None);
    }

    #[test]
    fn a_changed_link_is_invalid() {
        let (secret, tenant) = (LinkSecret::new([7; 32]), "acme".parse().unwrap());
        let link = secret.sign(&tenant, id(1), END);
        let bytes = URL_SAFE_NO_PAD.decode(&link).unwrap();
        for at_byte in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at_byte] ^= 1;
            let changed = URL_SAFE_NO_PAD.encode(changed);
            assert_eq!(secret.verify(&changed, id(1), at(0)), None, "{at_byte}");
        }
        for length in 0..link.len() {
            assert_eq!(
                secret.verify(&link[..length], id(1), at(0)),
                None,
                "{length}"
            );
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        assert_eq!(format!("{:?}", LinkSecret::new([7; 32])), "LinkSecret(…)");
    }

    #[test]
    fn own_addresses_of_contents_are_recognised() {
        let servers = ["https://a.example/base", "http://127.0.0.1:8080"];
        let file = id(0x01a1_f84a_95c1_7000_8000_0000_0000_0001);
        let found = |address: &str| file_of_address(address, servers);
        for own in [
            format!("https://a.example/base{}", content_path(file)),
            format!("https://A.example:443/base{}?link=x", content_path(file)),
            format!("http://127.0.0.1:8080{}?link=", content_path(file)),
        ] {
            assert_eq!(found(&own), Some(file), "{own}");
        }
        for other in [
            format!("https://a.example{}", content_path(file)),
            format!("https://b.example/base{}", content_path(file)),
            format!("http://127.0.0.1:8081{}", content_path(file)),
            format!("http://127.0.0.1:8080/api/files/{file}"),
            "http://127.0.0.1:8080/api/files/x/content".to_owned(),
            content_path(file),
        ] {
            assert_eq!(found(&other), None, "{other}");
        }
    }
}
