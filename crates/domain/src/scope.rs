//! Permissions: scopes and sets of them.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! scopes {
    ($(#[doc = $doc:literal] $name:ident = $text:literal,)*) => {
        /// One permission.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Scope {
            $(#[doc = $doc] #[serde(rename = $text)] $name,)*
        }

        impl Scope {
            /// Every scope, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the scope's name in keys, tokens and documents.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns the description of the permission, for people.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $doc),* }
            }
        }
    };
}

scopes! {
    /// Read agents and their configuration.
    AgentsRead = "agents:read",
    /// Create, change and delete agents.
    AgentsWrite = "agents:write",
    /// Chat with agents and cancel turns.
    ChatWrite = "chat:write",
    /// Approve or deny tool calls that wait for staff.
    ToolsApprove = "tools:approve",
    /// Read conversations, messages and turns.
    ConversationsRead = "conversations:read",
    /// Create, change and delete conversations.
    ConversationsWrite = "conversations:write",
    /// For users: reach conversations of other users too.
    ConversationsAll = "conversations:all",
    /// Follow the event log.
    EventsRead = "events:read",
    /// Read the service's metrics, and list its nodes.
    MetricsRead = "metrics:read",
    /// Store what models are told about users, read it, and erase users.
    UsersAdmin = "users:admin",
    /// Create, change, rotate and revoke keys and clients.
    KeysAdmin = "keys:admin",
    /// Issue tokens to users and withdraw them, and so act as any user.
    UserTokensIssue = "user-tokens:issue",
}

/// The scopes that a user token has by default, as far as its issuer holds them.
const DEFAULT_OF_USERS: [Scope; 4] = [
    Scope::ChatWrite,
    Scope::ConversationsRead,
    Scope::ConversationsWrite,
    Scope::EventsRead,
];

// Written by hand: the derive does not see a serde name that a macro inserts.
#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Scope {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let names = Self::ALL.iter().map(|value| value.as_str());
        crate::open_enum::schema("One permission.", names)
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Scope {}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The error for a text that names no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope '{0}'; the scopes are {names}", names = names())]
pub struct UnknownScope(pub String);

fn names() -> String {
    let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    names.join(", ")
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// A set of scopes. It keeps the names of scopes that this version does not know, since a newer
/// one, which runs beside it, may have granted them: they permit nothing here, but whoever holds
/// less than all of them holds less than the set.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Scopes {
    /// One bit for each known scope.
    known: u16,
    unknown: BTreeSet<String>,
}

impl Scopes {
    /// No permission at all.
    pub const NONE: Self = Self {
        known: 0,
        unknown: BTreeSet::new(),
    };

    /// Every permission.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Reads stored names.
    pub fn read(names: Vec<String>) -> Self {
        let mut scopes = Self::NONE;
        for name in names {
            match name.parse::<Scope>() {
                Ok(scope) => scopes.known |= 1 << scope as u16,
                Err(UnknownScope(name)) => {
                    scopes.unknown.insert(name);
                }
            }
        }
        scopes
    }

    /// The permissions that a user token can have.
    pub fn of_user_tokens() -> Self {
        Self::default_of_user_tokens().with(Scope::AgentsRead)
    }

    /// The permissions that a user token has by default, as far as its issuer holds them.
    pub fn default_of_user_tokens() -> Self {
        DEFAULT_OF_USERS.into_iter().collect()
    }

    /// Adds a scope.
    #[must_use]
    pub fn with(mut self, scope: Scope) -> Self {
        self.known |= 1 << scope as u16;
        self
    }

    /// Returns the scopes that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            known: self.known & other.known,
            unknown: &self.unknown & &other.unknown,
        }
    }

    /// Returns `true` if `scope` is in the set.
    pub const fn contains(&self, scope: Scope) -> bool {
        self.known & (1 << scope as u16) != 0
    }

    /// Returns `true` if every scope of `other` is in this set.
    pub fn includes(&self, other: &Self) -> bool {
        other.without(self) == Self::NONE
    }

    /// Returns the scopes of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self {
            known: self.known & !other.known,
            unknown: &self.unknown - &other.unknown,
        }
    }

    /// Returns the known scopes in the set, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = Scope> {
        let known = self.known;
        let scopes = Scope::ALL.iter().copied();
        scopes.filter(move |scope| known & (1 << *scope as u16) != 0)
    }

    /// Returns the names of the scopes in the set: the known ones in the order of the documentation,
    /// then the others.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = self.iter().map(|scope| -> &str { scope.as_str() });
        known.chain(self.unknown.iter().map(String::as_str))
    }

    /// Returns the names of the scopes in the set, joined by `separator`.
    pub fn joined(&self, separator: &str) -> String {
        let names: Vec<&str> = self.names().collect();
        names.join(separator)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_is_parsed_and_has_its_own_bit() {
        for scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(*scope));
            let alone: Scopes = [*scope].into_iter().collect();
            assert_eq!(alone.iter().collect::<Vec<_>>(), [*scope]);
            assert!(Scopes::all().includes(&alone));
            assert!(!alone.includes(&Scopes::all()));
            assert!(!Scopes::all().without(&alone).contains(*scope));
            assert_eq!(alone.without(&Scopes::NONE), alone);
        }
    }

    #[test]
    fn scopes_are_joined_in_the_order_of_the_documentation() {
        let two: Scopes = [Scope::ChatWrite, Scope::AgentsRead].into_iter().collect();
        assert_eq!(two.joined(" and "), "agents:read and chat:write");
        assert_eq!(Scopes::NONE.joined(" "), "");
    }

    #[test]
    fn unknown_scopes_are_kept_and_permit_nothing() {
        let names = serde_json::json!(["zones:write", "agents:read"]);
        let newer: Scopes = serde_json::from_value(names).unwrap();
        assert_eq!(newer.joined(" "), "agents:read zones:write");
        assert_eq!(serde_json::to_value(&newer).unwrap()[1], "zones:write");
        assert_eq!(newer.iter().collect::<Vec<_>>(), [Scope::AgentsRead]);
        let missing = newer.without(&Scopes::all());
        assert_eq!(missing.joined(" "), "zones:write");
        assert!(
            !Scopes::all().includes(&newer),
            "its secret is not for them"
        );
        assert_eq!(newer.intersection(&missing), missing);
    }
}
