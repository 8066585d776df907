//! Permissions: scopes and sets of them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

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
    /// Create, rotate and revoke keys and clients.
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
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("One permission."))
            .enum_values(Some(Self::ALL.iter().map(|value| value.as_str())))
            .build()
            .into()
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

/// A set of scopes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u16);

impl Scopes {
    /// No permission at all.
    pub const NONE: Self = Self(0);

    /// Every permission.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// The permissions that a user token can have.
    pub fn of_user_tokens() -> Self {
        Self::default_of_user_tokens()
            .iter()
            .chain([Scope::AgentsRead])
            .collect()
    }

    /// The permissions that a user token has by default, as far as its issuer holds them.
    pub fn default_of_user_tokens() -> Self {
        DEFAULT_OF_USERS.into_iter().collect()
    }

    /// Returns the scopes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns `true` if `scope` is in the set.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u16) != 0
    }

    /// Returns `true` if every scope of `other` is in this set.
    pub const fn includes(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns the scopes of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the scopes in the set, in the order of the documentation.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .iter()
            .copied()
            .filter(move |scope| self.contains(*scope))
    }

    /// Returns the names of the scopes in the set, joined by `separator`.
    pub fn joined(self, separator: &str) -> String {
        let names: Vec<&str> = self.iter().map(Scope::as_str).collect();
        names.join(separator)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(
            scopes
                .into_iter()
                .fold(0, |bits, scope| bits | 1 << scope as u16),
        )
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_set()
            .entries(self.iter().map(Scope::as_str))
            .finish()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names
            .iter()
            .map(|name| name.parse().map_err(D::Error::custom))
            .collect()
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
            assert!(Scopes::all().includes(alone));
            assert!(!alone.includes(Scopes::all()));
            assert!(!Scopes::all().without(alone).contains(*scope));
            assert_eq!(alone.without(Scopes::NONE), alone);
        }
    }

    #[test]
    fn scopes_are_joined_in_the_order_of_the_documentation() {
        let two: Scopes = [Scope::ChatWrite, Scope::AgentsRead].into_iter().collect();
        assert_eq!(two.joined(" and "), "agents:read and chat:write");
        assert_eq!(Scopes::NONE.joined(" "), "");
    }
}
