//! Members of a stored document that this version does not know.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The members of a stored document that a newer version, which runs beside this one, has added.
/// They have no effect, and are shown and written back as they were read. A type of documents has
/// them as its last member, flattened. In requests, which are checked against their schema first,
/// they are always empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownMembers(Option<Box<Map<String, Value>>>);

impl From<Map<String, Value>> for UnknownMembers {
    fn from(members: Map<String, Value>) -> Self {
        // Nearly always there are none, and many documents are held in memory.
        Self((!members.is_empty()).then(|| members.into()))
    }
}

impl Serialize for UnknownMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().flat_map(|members| members.iter()))
    }
}

impl<'de> Deserialize<'de> for UnknownMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}
