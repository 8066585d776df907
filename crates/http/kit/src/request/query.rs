//! Query strings: only known parameters, each at most once; all faults are reported together.

use std::{collections::BTreeMap, str::FromStr};

use actix_web::HttpRequest;
use application::PAGE_LIMIT;
use domain::{FaultCode, ProblemCode, fault::list::MAX_FAULTS, problem::ProblemFault};
use ports::ListingOrder;

use crate::problem::{ApiError, parameter_fault};

/// The number of items in a page if `limit` is absent.
const DEFAULT_LIMIT: usize = 20;

/// The parameters of a query, and the faults found so far.
#[derive(Debug)]
pub struct QueryParameters {
    pairs: Vec<(String, String)>,
    faults: Vec<ProblemFault>,
}

impl QueryParameters {
    /// Reads the query of a request that has only the parameters `known`.
    pub fn read(request: &HttpRequest, known: &[&str]) -> Self {
        Self::check(request, pairs(request), known)
    }

    /// Reads the query of a request that has only the parameters `known`, and those whose names begin with
    /// `prefix` and have more than that.
    pub fn read_with_prefix(request: &HttpRequest, known: &[&str], prefix: &str) -> Self {
        let pairs = pairs(request);
        let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
        let prefixed = names.iter().map(String::as_str).filter(|name| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty() && !rest.contains('\0'))
        });
        let known: Vec<&str> = known.iter().copied().chain(prefixed).collect();
        Self::check(request, pairs, &known)
    }

    /// Returns the parameters whose names begin with `prefix`, by the rest of their names.
    pub fn prefixed(&self, prefix: &str) -> BTreeMap<String, String> {
        let rest = |(name, value): &(String, String)| {
            let rest = name.strip_prefix(prefix).filter(|rest| !rest.is_empty())?;
            Some((rest.to_owned(), value.clone()))
        };
        self.pairs.iter().filter_map(rest).collect()
    }

    /// Reads the parameters `known`; others are ignored.
    pub fn read_known(request: &HttpRequest, known: &[&str]) -> Self {
        let mut pairs = pairs(request);
        pairs.retain(|(name, _)| known.contains(&name.as_str()));
        Self::check(request, pairs, known)
    }

    fn check(request: &HttpRequest, pairs: Vec<(String, String)>, known: &[&str]) -> Self {
        // The parser replaces invalid UTF-8 by this character, but a client may also send the
        // character itself.
        let raw = request.query_string().to_ascii_uppercase();
        let sends_replacement_character = raw.contains("%EF%BF%BD");
        let faults = pairs
            .iter()
            .enumerate()
            .filter_map(|(index, (name, value))| {
                let (code, detail) = if !known.contains(&name.as_str()) {
                    (FaultCode::UnknownMember, "unknown parameter")
                } else if pairs[..index].iter().any(|(other, _)| other == name) {
                    (FaultCode::DuplicateMember, "must be sent at most once")
                } else if value.contains(char::REPLACEMENT_CHARACTER)
                    && !sends_replacement_character
                {
                    (FaultCode::BadCharacter, "must be UTF-8")
                } else if value.contains('\0') {
                    (FaultCode::BadCharacter, "must not contain NUL characters")
                } else {
                    return None;
                };
                Some(parameter_fault(name, code, detail))
            });
        let faults = faults.take(MAX_FAULTS).collect();
        Self { pairs, faults }
    }

    /// Returns a parameter as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a parameter as text of 1 to `max` characters.
    pub fn bounded_text(&mut self, name: &str, max: u32) -> Option<String> {
        let value = self.text(name)?.to_owned();
        let fault = match value.chars().count() {
            0 => parameter_fault(name, FaultCode::TooShort, "at least 1 character"),
            count if count > max as usize => parameter_fault(
                name,
                FaultCode::TooLong,
                format!("at most {max} characters"),
            ),
            _ => return Some(value),
        };
        self.faults.push(fault);
        None
    }

    /// Parses a parameter; `expected` is the detail of the fault if it is malformed.
    pub fn parsed<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        let value = unsigned(self.text(name)?).and_then(|text| text.parse().ok());
        if value.is_none() {
            self.faults
                .push(parameter_fault(name, FaultCode::BadFormat, expected));
        }
        value
    }

    /// Returns the `limit` of a page.
    pub fn limit(&mut self) -> usize {
        let Some(text) = self.text("limit") else {
            return DEFAULT_LIMIT;
        };
        let fault = match unsigned(text).map(str::parse::<i64>) {
            Some(Ok(number)) => match usize::try_from(number) {
                Ok(limit) if (1..=PAGE_LIMIT).contains(&limit) => return limit,
                Ok(limit) if limit > PAGE_LIMIT => parameter_fault(
                    "limit",
                    FaultCode::TooLarge,
                    format!("at most {PAGE_LIMIT}"),
                ),
                _ => parameter_fault("limit", FaultCode::TooSmall, "at least 1"),
            },
            _ => parameter_fault("limit", FaultCode::WrongType, "must be a whole number"),
        };
        self.faults.push(fault);
        DEFAULT_LIMIT
    }

    /// Returns the `order` of a page.
    pub fn order(&mut self) -> ListingOrder {
        match self.text("order") {
            None | Some("asc") => ListingOrder::Ascending,
            Some("desc") => ListingOrder::Descending,
            Some(_) => {
                self.add_fault("order", FaultCode::UnknownValue, "must be 'asc' or 'desc'");
                ListingOrder::Ascending
            }
        }
    }

    /// Adds a fault that the handler found.
    pub fn add_fault(&mut self, name: &str, code: FaultCode, detail: &str) {
        self.faults.push(parameter_fault(name, code, detail));
    }

    /// Returns all faults as one error, if there are any.
    pub fn finish(self) -> Result<(), ApiError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(ApiError {
            faults: self.faults,
            ..ApiError::new(ProblemCode::ValidationFailed)
        })
    }
}

fn pairs(request: &HttpRequest) -> Vec<(String, String)> {
    actix_web::web::Query::from_query(request.query_string())
        .map(actix_web::web::Query::into_inner)
        .unwrap_or_default()
}

/// Returns the text unless it starts with a plus sign, which Rust's number parser accepts.
pub(crate) fn unsigned(text: &str) -> Option<&str> {
    (!text.starts_with('+')).then_some(text)
}
