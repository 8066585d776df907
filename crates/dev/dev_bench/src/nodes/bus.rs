//! The bus between the nodes.

use crate::figures::Target;

/// The bus between the nodes, over which N2 and N3 are measured.
pub(crate) enum Bus {
    /// `LISTEN` and `NOTIFY` of the nodes' database.
    Postgres,
    /// A server at this URL, for `BUS__URL`.
    Server(String),
}

/// The name of a row, and its target.
pub(super) type NamedTarget = (&'static str, Target);

impl Bus {
    /// The name in those of databases.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Server(_) => "server",
        }
    }

    /// The settings of the nodes.
    pub(super) fn variables(&self) -> Option<(String, String)> {
        match self {
            Self::Postgres => None,
            Self::Server(url) => Some(("BUS__URL".to_owned(), url.clone())),
        }
    }

    /// Median and 99th percentile of the time from a commit to a socket of another node, in ms.
    pub(super) const fn delivery(&self) -> [NamedTarget; 2] {
        match self {
            Self::Postgres => [
                (
                    "event to a socket of another node, median, Postgres",
                    Target::AtMost(5.0),
                ),
                (
                    "event to a socket of another node, p99, Postgres",
                    Target::AtMost(30.0),
                ),
            ],
            Self::Server(_) => [
                (
                    "event to a socket of another node, median, BUS__URL",
                    Target::AtMost(2.0),
                ),
                (
                    "event to a socket of another node, p99, BUS__URL",
                    Target::AtMost(10.0),
                ),
            ],
        }
    }

    /// The commits of a node beside a listening one, relative to those of a lone node.
    pub(super) const fn commits(&self) -> NamedTarget {
        let target = Target::AtLeast(0.97);
        match self {
            Self::Postgres => ("commits beside a listening node ÷ alone, Postgres", target),
            Self::Server(_) => ("commits beside a listening node ÷ alone, BUS__URL", target),
        }
    }

    /// The number of replies whose text is identical on another node.
    pub(super) const fn identical(&self) -> NamedTarget {
        let target = Target::AtLeast(1_000.0);
        match self {
            Self::Postgres => (
                "live replies with the same text on another node, Postgres",
                target,
            ),
            Self::Server(_) => (
                "live replies with the same text on another node, BUS__URL",
                target,
            ),
        }
    }

    /// The time that a word takes longer to a socket of another node, in ms.
    pub(super) const fn added_delay(&self) -> NamedTarget {
        match self {
            Self::Postgres => (
                "delay that another node adds to a word, median, Postgres",
                Target::AtMost(25.0),
            ),
            Self::Server(_) => (
                "delay that another node adds to a word, median, BUS__URL",
                Target::AtMost(5.0),
            ),
        }
    }
}
