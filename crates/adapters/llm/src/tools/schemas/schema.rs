//! The schema of a tool's arguments, compiled.

use std::time::Instant;

use domain::{sizes::ARGUMENT_LEVELS, tool_call::is_nested_deeper};
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator, paths::Location};
use serde_json::{Map, Value, json};

use super::{
    bounds::{Survey, survey},
    work::{LONGEST_CHECK, Step, TooMuch, within},
};

/// The most bytes of one compiled pattern.
const PATTERN_BYTES: usize = 64 * 1024;
/// The most bytes of all compiled patterns of a schema.
const ALL_PATTERNS_BYTES: usize = 512 * 1024;

/// How many schemas are looked at for one call: long lists of members with alternatives need
/// thousands.
const STEPS: u32 = 200_000;
/// How many are looked at again to say what is wrong: for that, much is kept.
const STEPS_OF_REASONS: u32 = 20_000;

/// The keyword by which steps are counted. A foreign schema that has it counts twice.
const STEP: &str = "agent-service:step";

/// The longest reason that is told of the library's, which quotes what it read.
const LONGEST_REASON: usize = 200;

/// What the arguments of a tool have to be like.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Foreign schemas: nothing is fetched for them, their patterns match in linear time, and
    /// neither compiling nor checking takes more than it may. The error says why it cannot be used.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let survey = survey(schema)?;
        let share = ALL_PATTERNS_BYTES / survey.patterns.max(1);
        let patterns = PatternOptions::regex()
            .size_limit(share.min(PATTERN_BYTES))
            .dfa_size_limit(share.min(PATTERN_BYTES));
        let options = jsonschema::options()
            .with_pattern_options(patterns)
            .with_keyword(STEP, step);
        match options.build(&counted(schema, &survey)) {
            Ok(validator) => Ok(Self(validator)),
            Err(fault) => {
                let reason = fault.to_string();
                Err(reason.chars().take(LONGEST_REASON).collect())
            }
        }
    }

    /// What is wrong with arguments, for the model to do better.
    pub(super) fn first_fault(&self, arguments: &Value) -> Option<String> {
        if is_nested_deeper(arguments, ARGUMENT_LEVELS) {
            return Some("the arguments are nested too deeply".to_owned());
        }
        let until = Instant::now() + LONGEST_CHECK;
        match within(STEPS, until, || self.0.is_valid(arguments)) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(TooMuch) => return Some("the arguments are too much to check".to_owned()),
        }
        // Stops at the first, where an iterator would make them all: there may be very many.
        let told = within(STEPS_OF_REASONS, until, || {
            let fault = self.0.validate(arguments).err()?;
            let place = fault.instance_path().to_string();
            let place = if place.is_empty() { "/" } else { &place };
            Some(format!("at {place}: {fault}"))
        });
        told.unwrap_or_else(|TooMuch| Some("the arguments do not fit the schema".to_owned()))
    }
}

/// The schema, with steps counted in all its parts. The library looks at keywords of others last,
/// but at `allOf` before all that goes on after a fault: so there is no way around the steps.
fn counted(schema: &Value, survey: &Survey) -> Value {
    let mut counted = schema.clone();
    for place in &survey.places {
        if let Some(Value::Object(members)) = counted.pointer_mut(place)
            && let Value::Array(parts) = members.entry("allOf").or_insert_with(|| json!([]))
        {
            // At the end: what refers to the others still finds them.
            parts.push(json!({ STEP: null }));
        }
    }
    counted
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature is that of all keywords"
)]
fn step<'a>(
    _parent: &'a Map<String, Value>,
    _value: &'a Value,
    _place: Location,
) -> Result<Box<dyn Keyword>, ValidationError<'a>> {
    Ok(Box::new(Step))
}

#[cfg(test)]
mod tests;
