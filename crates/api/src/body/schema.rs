//! Bodies are checked against the published document itself, so that it cannot say anything else
//! than the server does.

use std::{borrow::Cow, collections::HashMap};

use domain::{Fault, Timestamp};
use jsonschema::{
    Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind as Kind,
};
use serde_json::{Map, Value, json};

use super::{excerpt::excerpt, explain::explain, faults::Faults};

/// Where components stand in the document.
const COMPONENT: &str = "#/components/schemas/";

/// Faults are first looked for in so many items of all lists together, and in four times as many
/// as long as there are fewer faults than an answer reports: the work depends on what is reported,
/// not on what is wrong.
const FIRST_ITEMS: usize = 256;

/// Validators for the components of the OpenAPI document that are request bodies.
#[derive(Debug)]
pub struct Schemas {
    /// `{"components": {"schemas": …}}`, where a fault can look up what asked for it.
    document: Value,
    validators: HashMap<String, Validator>,
}

/// A component of the document cannot be compiled, or is not there.
#[derive(Debug, thiserror::Error)]
#[error("the schema of component '{name}' cannot be compiled")]
pub struct SchemaError {
    name: String,
    #[source]
    source: Box<ValidationError<'static>>,
}

impl Schemas {
    /// Compiles the components `names` of the finished OpenAPI `document`. Takes some 40 ms for
    /// the first: once, at the start.
    pub fn new(document: &Value, names: &[&str]) -> Result<Self, SchemaError> {
        let published = &document["components"]["schemas"];
        let mut asked_for = Map::new();
        let mut validators = HashMap::new();
        for name in names {
            // Each validator keeps what it is made of: the whole document would be megabytes.
            let mut schemas = Map::new();
            collect(published, name, &mut schemas);
            validators.insert((*name).to_owned(), compile(&schemas, name)?);
            asked_for.extend(schemas);
        }
        Ok(Self {
            document: json!({"components": {"schemas": asked_for}}),
            validators,
        })
    }

    /// Everything that the component `name` refuses of `value`, by pointer.
    ///
    /// # Panics
    /// When `name` is not among those given to [`Self::new`]: then no body of its route could
    /// ever be checked.
    pub fn check(&self, name: &str, value: &Value) -> Vec<Fault> {
        let mut faults = Faults::default();
        self.check_into(name, value, &mut faults);
        faults.into_sorted()
    }

    pub(super) fn check_into(&self, name: &str, value: &Value, faults: &mut Faults) {
        let Some(validator) = self.validators.get(name) else {
            panic!("component '{name}' was not compiled at the start");
        };
        // Nearly every body is valid, and to know only that is several times as fast.
        if validator.is_valid(value) {
            return;
        }
        let (before, mut most) = (faults.mark(), FIRST_ITEMS);
        loop {
            let excerpt = excerpt(value, most);
            self.explain_all(validator, &excerpt, faults);
            if faults.is_full() || matches!(excerpt, Cow::Borrowed(_)) {
                return;
            }
            // More faults stand where the lists were cut.
            faults.forget_after(before);
            most *= 4;
        }
    }

    /// Explains counts first: a list that is too long is worth more than what is wrong with each
    /// of its items.
    fn explain_all(&self, validator: &Validator, value: &Value, faults: &mut Faults) {
        let (counts, others): (Vec<_>, Vec<_>) = validator
            .iter_errors(value)
            .partition(|error| matches!(error.kind(), Kind::MaxItems { .. }));
        for error in counts.iter().chain(&others) {
            explain(error, &self.document, faults);
        }
    }
}

/// Copies the schema `name` and all that it refers to.
fn collect(published: &Value, name: &str, into: &mut Map<String, Value>) {
    if into.contains_key(name) {
        return;
    }
    // What is missing is told when the schema is compiled.
    if let Some(schema) = published.get(name) {
        into.insert(name.to_owned(), schema.clone());
        collect_references(published, schema, into);
    }
}

fn collect_references(published: &Value, within: &Value, into: &mut Map<String, Value>) {
    match within {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|it| it.strip_prefix(COMPONENT)) {
                collect(published, name, into);
            }
            for member in members.values() {
                collect_references(published, member, into);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_references(published, item, into);
            }
        }
        _ => {}
    }
}

fn compile(schemas: &Map<String, Value>, name: &str) -> Result<Validator, SchemaError> {
    let schema = json!({
        "components": {"schemas": schemas},
        "$ref": format!("{COMPONENT}{name}"),
    });
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        // What is accepted here must be read by the type behind it.
        .with_format("date-time", |text: &str| Timestamp::parse(text).is_ok())
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .map_err(|error| SchemaError {
            name: name.to_owned(),
            source: Box::new(error),
        })
}
