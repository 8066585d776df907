//! Query strings: known parameters only, each once, all faults at once.

use std::str::FromStr;

use actix_web::HttpRequest;
use application::PAGE_LIMIT;
use domain::{FaultCode, ProblemCode, problem::ProblemFault};

use crate::{
    body::MOST_FAULTS,
    problem::{ApiError, parameter_fault},
};

/// Items of a page when the caller does not say.
const DEFAULT_LIMIT: usize = 20;

/// The parameters of a query, and what is wrong with them so far.
#[derive(Debug)]
pub struct QueryParameters {
    pairs: Vec<(String, String)>,
    faults: Vec<ProblemFault>,
}

impl QueryParameters {
    /// Reads the query of a request that takes these parameters.
    pub fn read(request: &HttpRequest, known: &[&str]) -> Self {
        let pairs: Vec<(String, String)> =
            actix_web::web::Query::from_query(request.query_string())
                .map(actix_web::web::Query::into_inner)
                .unwrap_or_default();
        // What is not UTF-8 was read as this character, unless it was sent as such.
        let raw = request.query_string().to_ascii_uppercase();
        let spells_replacement = raw.contains("%EF%BF%BD");
        let faults = pairs
            .iter()
            .enumerate()
            .filter_map(|(index, (name, value))| {
                let (code, detail) = if !known.contains(&name.as_str()) {
                    (FaultCode::UnknownMember, "not known here")
                } else if pairs[..index].iter().any(|(other, _)| other == name) {
                    (FaultCode::DuplicateMember, "sent twice")
                } else if value.contains(char::REPLACEMENT_CHARACTER) && !spells_replacement {
                    (FaultCode::BadCharacter, "not UTF-8")
                } else if value.contains('\0') {
                    (FaultCode::BadCharacter, "NUL is not allowed")
                } else {
                    return None;
                };
                Some(parameter_fault(name, code, detail))
            });
        let faults = faults.take(MOST_FAULTS).collect();
        Self { pairs, faults }
    }

    /// A parameter as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// A parameter as text of at least one and at most `most` characters.
    pub fn bounded_text(&mut self, name: &str, most: u32) -> Option<String> {
        let value = self.text(name)?.to_owned();
        let fault = match value.chars().count() {
            0 => parameter_fault(name, FaultCode::TooShort, "at least 1 character"),
            count if count > most as usize => parameter_fault(
                name,
                FaultCode::TooLong,
                format!("at most {most} characters"),
            ),
            _ => return Some(value),
        };
        self.faults.push(fault);
        None
    }

    /// A parameter of another type; `expected` says in words what it must be.
    pub fn parsed<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        let value = unsigned(self.text(name)?).and_then(|text| text.parse().ok());
        if value.is_none() {
            self.faults
                .push(parameter_fault(name, FaultCode::BadFormat, expected));
        }
        value
    }

    /// The `limit` of a page.
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
            _ => parameter_fault("limit", FaultCode::WrongType, "a whole number"),
        };
        self.faults.push(fault);
        DEFAULT_LIMIT
    }

    /// Notes a fault that the handler found.
    pub fn refuse(&mut self, name: &str, code: FaultCode, detail: &str) {
        self.faults.push(parameter_fault(name, code, detail));
    }

    /// All faults at once, if there are any.
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

/// A text that does not begin with a plus, which Rust takes before a number and nothing here means.
pub fn unsigned(text: &str) -> Option<&str> {
    (!text.starts_with('+')).then_some(text)
}
