//! What tests of access are given: time, tenants, documents from the web, and keys that sign.

mod clock;
mod documents;
mod keys;
mod tenants;

pub(crate) use clock::{NOON, SetClock};
pub(crate) use documents::ScriptedDocuments;
pub(crate) use keys::SigningKey;
pub(crate) use tenants::TenantsInMemory;
