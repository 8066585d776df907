//! Members of a stored document that this version does not know.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The members of a stored document that a newer version, which runs beside this one, has added.
/// They have no effect, and are shown and written back as they were read. A type of documents has
/// them as its last member, flattened. In requests, which are checked against their schema first,
/// they are always empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnknownMembers(pub Map<String, Value>);
