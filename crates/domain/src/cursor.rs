//! Page cursors: opaque, bound to tenant and filters.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

const BINDING_BYTES: usize = 8;

/// The cursor is damaged, or belongs to another listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this listing")]
pub struct InvalidCursor;

/// Writes the position after which the next page begins. `binding` names what the listing shows
/// (tenant, resource, filters); only a listing with the same binding accepts the cursor.
pub fn encode(binding: &impl Serialize, position: &impl Serialize) -> String {
    // Positions are numbers, ids and short texts: their serialization cannot fail.
    let position = serde_json::to_vec(position).unwrap_or_default();
    let mut bytes = seal(binding, &position).to_vec();
    bytes.extend(position);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor back.
pub fn decode<P: DeserializeOwned>(
    binding: &impl Serialize,
    cursor: &str,
) -> Result<P, InvalidCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).or(Err(InvalidCursor))?;
    let (seal_found, position) = bytes.split_at_checked(BINDING_BYTES).ok_or(InvalidCursor)?;
    if seal_found != seal(binding, position) {
        return Err(InvalidCursor);
    }
    serde_json::from_slice(position).or(Err(InvalidCursor))
}

/// Tells damaged and foreign cursors; no secret, since a forged position shows nothing that the
/// listing would not show anyway.
fn seal(binding: &impl Serialize, position: &[u8]) -> [u8; BINDING_BYTES] {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(binding).unwrap_or_default());
    hash.update([0]);
    hash.update(position);
    let mut seal = [0; BINDING_BYTES];
    seal.copy_from_slice(&hash.finalize()[..BINDING_BYTES]);
    seal
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_back_what_it_wrote(tenant in ".*", position in any::<(i64, String)>()) {
            let cursor = encode(&tenant, &position);
            prop_assert_eq!(decode::<(i64, String)>(&tenant, &cursor), Ok(position));
        }

        #[test]
        fn refuses_another_binding_and_damage(at in 0..30_usize, position in any::<i64>()) {
            let cursor = encode(&"tenant a", &position);
            prop_assert_eq!(decode::<i64>(&"tenant b", &cursor), Err(InvalidCursor));
            let mut damaged = cursor.clone().into_bytes();
            let at = at % damaged.len();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(damaged).unwrap();
            // The last character may hold unused bits; then the text is no cursor at all.
            prop_assert!(decode::<i64>(&"tenant a", &damaged) != Ok(position) || damaged == cursor);
        }

        #[test]
        fn never_panics_on_anything(text in "\\PC*") {
            let _ = decode::<i64>(&"tenant a", &text);
        }
    }
}
