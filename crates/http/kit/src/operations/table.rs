//! The operations of all crates.

use domain::RatePolicy;

use super::{Access, ONE_REQUEST, Operation, Protocol, Streams, first_segment};
use crate::{lines::JSON_LINES, sse::EVENT_STREAM};

/// The operations of all crates.
pub struct OperationTable {
    operations: Vec<&'static Operation>,
    protocols: &'static [Protocol],
    /// The names of the protocols that are turned off.
    disabled: Vec<&'static str>,
    /// The operations that cost more than a request.
    costly: Vec<&'static Operation>,
    /// The first segments of the paths on which credentials are ignored.
    public_segments: Vec<&'static str>,
}

impl OperationTable {
    /// Puts the tables of crates together.
    pub fn new(tables: &[&'static [Operation]], protocols: &'static [Protocol]) -> Self {
        let operations: Vec<&Operation> = tables.iter().copied().flatten().collect();
        let public = operations.iter().filter(|it| it.access == Access::Public);
        let mut public_segments: Vec<_> = public.map(|it| first_segment(it.path)).collect();
        public_segments.extend(["docs", "console"]);
        public_segments.retain(|segment| !segment.is_empty());
        public_segments.sort_unstable();
        public_segments.dedup();
        let mut table = Self {
            operations,
            protocols,
            disabled: Vec::new(),
            costly: Vec::new(),
            public_segments,
        };
        table.costly = table.all().filter(|it| it.cost != ONE_REQUEST).collect();
        table
    }

    /// Turns protocols off. Their paths still have the costs and the forms of errors of their rows.
    #[must_use]
    pub fn without_protocols(self, disabled: Vec<&'static str>) -> Self {
        Self { disabled, ..self }
    }

    /// Returns the operations of the API itself, without those of protocols.
    pub fn own(&self) -> &[&'static Operation] {
        &self.operations
    }

    /// Returns the protocols of other products' clients that are turned on.
    pub fn protocols(&self) -> impl Iterator<Item = &'static Protocol> {
        self.protocols.iter().filter(|it| self.is_enabled(it))
    }

    /// Returns whether a protocol is turned on.
    pub fn is_enabled(&self, protocol: &Protocol) -> bool {
        !self.disabled.contains(&protocol.name)
    }

    /// Returns all operations, including those of protocols.
    pub fn all(&self) -> impl Iterator<Item = &'static Operation> {
        let protocols = self.protocols.iter().flat_map(|it| it.operations);
        self.operations.iter().copied().chain(protocols)
    }

    /// Returns the row of an operation.
    pub fn find(&self, id: &str) -> Option<&'static Operation> {
        self.operations.iter().copied().find(|it| it.id == id)
    }

    /// Returns the protocol that a path belongs to, also if it is not the path of an operation.
    pub fn protocol_of(&self, path: &str) -> Option<&'static Protocol> {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let mut protocols = self.protocols.iter();
        protocols.find(|it| path.strip_prefix(it.prefix).is_some_and(is_below))
    }

    /// Returns the operation of a request, as the router finds it.
    pub fn of_request(&self, method: &str, path: &str) -> Option<&'static Operation> {
        self.all().find(|it| is_request_of(it, method, path))
    }

    /// Returns the cost of a request, which is counted before routing.
    pub fn cost_of(&self, method: &str, path: &str) -> &'static [RatePolicy] {
        let mut costly = self.costly.iter();
        let found = costly.find(|it| is_request_of(it, method, path));
        found.map_or(ONE_REQUEST, |operation| operation.cost)
    }

    /// Returns the media type of the streams with which a path can be answered.
    pub fn stream_type(&self, path: &str) -> Option<&'static str> {
        let mut streams = self.all().filter(|it| it.streams != Streams::Never);
        let found = streams.find(|it| is_path_of(it.path, path))?;
        Some(match found.streams {
            Streams::Lines => JSON_LINES,
            _ => EVENT_STREAM,
        })
    }

    /// Returns whether a path opens sockets, which accept tickets.
    pub fn opens_socket(&self, path: &str) -> bool {
        self.all()
            .any(|it| it.opens_socket && is_path_of(it.path, path))
    }

    /// Returns whether credentials are ignored on a path: the public operations, the pages of
    /// `/docs` and `/console`, and everything below them.
    pub fn is_public(&self, path: &str) -> bool {
        path == "/" || self.public_segments.contains(&first_segment(path))
    }
}

fn is_request_of(operation: &Operation, method: &str, path: &str) -> bool {
    operation.method == method && is_path_of(operation.path, path)
}

/// Returns whether a path has the form of a template, such as `/api/agents/{id}`.
fn is_path_of(template: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let is_same = |expected: &str| {
        segments
            .next()
            .is_some_and(|segment| segment == expected || expected.starts_with('{'))
    };
    template.split('/').all(is_same) && segments.next().is_none()
}
