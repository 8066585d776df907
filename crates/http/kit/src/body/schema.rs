//! Validates bodies against the published document itself, so that the two cannot differ.

use std::{borrow::Cow, collections::HashMap};

use domain::{Faults, InputFault, Timestamp};
use jsonschema::{
    Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind as Kind,
};
use serde_json::{Map, Value, json};

use super::validation::{map_error, truncate};

/// The prefix of references to components.
const COMPONENT: &str = "#/components/schemas/";

/// The number of list items that are validated first. It is multiplied by four as long as fewer
/// faults are found than a response reports, so that the work depends on the number of reported
/// faults, not on that of all faults.
const INITIAL_ITEMS: usize = 256;

/// Validators of the components of the OpenAPI document that are request bodies.
#[derive(Debug)]
pub struct Schemas {
    /// `{"components": {"schemas": …}}`: the schemas that faults refer to.
    document: Value,
    validators: HashMap<String, Validator>,
}

/// A component of the document is missing or cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[error("the schema of component '{name}' cannot be compiled")]
pub struct SchemaError {
    name: String,
    #[source]
    source: Box<ValidationError<'static>>,
}

impl Schemas {
    /// Compiles the components `names` of the complete OpenAPI `document`.
    pub fn new(document: &Value, names: &[&str]) -> Result<Self, SchemaError> {
        let published = &document["components"]["schemas"];
        let mut used = Map::new();
        let mut validators = HashMap::new();
        for name in names {
            // Each validator keeps its schema, and the whole document would take megabytes.
            let mut schemas = Map::new();
            collect(published, name, &mut schemas);
            validators.insert((*name).to_owned(), compile(&schemas, name)?);
            used.extend(schemas);
        }
        Ok(Self {
            document: json!({"components": {"schemas": used}}),
            validators,
        })
    }

    /// Returns the faults of `value` for the component `name`, in order of their pointers.
    ///
    /// # Panics
    ///
    /// If `name` was not passed to [`Self::new`]: no body of its route could ever be validated.
    pub fn check(&self, name: &str, value: &Value) -> Vec<InputFault> {
        let mut faults = Faults::default();
        self.check_into(name, value, &mut faults);
        faults.into_sorted()
    }

    pub(super) fn check_into(&self, name: &str, value: &Value, faults: &mut Faults) {
        let Some(validator) = self.validators.get(name) else {
            panic!("component '{name}' was not compiled");
        };
        // Nearly all bodies are valid, and this check is several times as fast as finding errors.
        if validator.is_valid(value) {
            return;
        }
        let (before, mut max_items) = (faults.checkpoint(), INITIAL_ITEMS);
        loop {
            let truncated = truncate(value, max_items);
            self.map_errors(validator, &truncated, faults);
            if faults.is_full() || matches!(truncated, Cow::Borrowed(_)) {
                return;
            }
            // There may be more faults where the lists were truncated.
            faults.rollback_to(before);
            max_items *= 4;
        }
    }

    /// Reports lists that are too long first: that is more useful than the faults of their items.
    fn map_errors(&self, validator: &Validator, value: &Value, faults: &mut Faults) {
        let (counts, others): (Vec<_>, Vec<_>) = validator
            .iter_errors(value)
            .partition(|error| matches!(error.kind(), Kind::MaxItems { .. }));
        for error in counts.iter().chain(&others) {
            map_error(error, &self.document, faults);
        }
    }
}

/// Copies the schema `name` and all schemas that it refers to.
fn collect(published: &Value, name: &str, into: &mut Map<String, Value>) {
    if into.contains_key(name) {
        return;
    }
    // A missing schema is reported when the schema is compiled.
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
        // An accepted value must also be accepted by the type.
        .with_format("date-time", |text: &str| Timestamp::parse(text).is_ok())
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .map_err(|error| SchemaError {
            name: name.to_owned(),
            source: Box::new(error),
        })
}
