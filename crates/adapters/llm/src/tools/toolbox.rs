//! The tools that a model is offered in a turn.

use std::{collections::HashSet, sync::Arc};

use ports::{AgentTool, ToolDefinition};
use serde_json::{Value, json};

use super::{
    names::function_names,
    schema_cache::{Schema, SchemaCache},
};
use crate::wire::{Function, Tool};

/// The maximum number of tools in a request: `OpenAI` and others reject requests with more.
const MAX_TOOLS: usize = 128;

/// The tools that are offered in a turn.
pub(crate) struct Toolbox {
    offered: Vec<OfferedTool>,
    functions: Vec<Tool>,
    /// Unavailable tools: their function names and their names.
    unavailable: Vec<(String, String)>,
}

/// A tool and the compiled schema of its arguments.
pub(crate) struct OfferedTool {
    function: String,
    pub(crate) tool: AgentTool,
    pub(crate) schema: Arc<Schema>,
}

impl Toolbox {
    /// Selects the tools with usable schemas, without duplicates, up to the maximum of a request.
    /// Only the names of unavailable tools are kept.
    pub(crate) async fn new(
        tools: &[AgentTool],
        unavailable: &[String],
        schema_cache: &SchemaCache,
    ) -> Self {
        let mut seen = HashSet::new();
        let mut usable = Vec::new();
        for tool in tools {
            if usable.len() == MAX_TOOLS {
                tracing::debug!(
                    tools = tools.len(),
                    "agent has more tools than a request may contain; the rest are not offered"
                );
                break;
            }
            if seen.insert(tool.definition.name.as_str())
                && let Some(schema) = schema_cache.get(&tool.definition).await
            {
                usable.push((tool.clone(), schema));
            }
        }
        let names: Vec<_> = usable.iter().map(|(tool, _)| name(tool)).collect();
        let functions = function_names(&names);
        let offer = |((tool, schema), function)| OfferedTool {
            function,
            tool,
            schema,
        };
        let offered: Vec<_> = usable.into_iter().zip(functions).map(offer).collect();
        let functions = offered.iter().map(OfferedTool::to_function).collect();
        let names: Vec<_> = unavailable.iter().map(String::as_str).collect();
        let unavailable = function_names(&names).into_iter().zip(unavailable.to_vec());
        Self {
            offered,
            functions,
            unavailable: unavailable.collect(),
        }
    }

    pub(crate) fn functions(&self) -> &[Tool] {
        &self.functions
    }

    /// The capabilities of the tools.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.offered.iter().map(|offer| name(&offer.tool)).collect()
    }

    /// Finds an unavailable tool by its function name or its name.
    pub(crate) fn find_unavailable(&self, function: &str) -> Option<&str> {
        let mut candidates = self.unavailable.iter();
        let found =
            candidates.find(|(function_name, name)| function_name == function || name == function);
        found.map(|(_, name)| name.as_str())
    }

    /// Finds a tool by its function name.
    pub(crate) fn find(&self, function: &str) -> Option<&OfferedTool> {
        let found = |name: &str| self.offered.iter().find(|offer| offer.function == name);
        found(function).or_else(|| found(without_decoration(function)))
    }

    /// The reason that there is no such tool, for the model.
    pub(crate) fn unknown_reason(&self) -> String {
        let names: Vec<_> = self.offered.iter().map(|it| it.function.as_str()).collect();
        if names.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("there is no such tool; the tools are: {}", names.join(", "))
        }
    }

    /// Returns the function name of a call in a form that servers accept in the history.
    pub(crate) fn function_name(&self, called: &str) -> String {
        match self.find(called) {
            Some(offer) => offer.function.clone(),
            None => function_names(&[called]).remove(0),
        }
    }
}

/// Removes what some models write around a name: a namespace before it, and a token that begins with
/// `<|` after it.
fn without_decoration(function: &str) -> &str {
    let name = function.split("<|").next().unwrap_or_default().trim();
    name.strip_prefix("functions.").unwrap_or(name)
}

fn name(tool: &AgentTool) -> &str {
    &tool.definition.name
}

impl OfferedTool {
    fn to_function(&self) -> Tool {
        let definition: &ToolDefinition = &self.tool.definition;
        Tool {
            kind: "function",
            function: Function {
                name: self.function.clone(),
                description: definition.description.clone(),
                parameters: object_schema(&definition.input_schema),
            },
        }
    }
}

/// Adds `type` and `properties` if they are missing: some servers reject a whole request if the
/// parameters of one function lack them.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.entry("type").or_insert(json!("object"));
        members.entry("properties").or_insert(json!({}));
    }
    schema
}
