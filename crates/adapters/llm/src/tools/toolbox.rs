//! The tools of an agent, as a model is offered them.

use std::{collections::HashSet, sync::Arc};

use ports::{AgentTool, ToolDefinition};
use serde_json::{Value, json};

use super::{
    names::function_names,
    schemas::{Schema, Schemas},
};
use crate::wire::{Function, Tool};

/// The most tools that are offered: with more, `OpenAI` and others refuse the question altogether.
const MOST_TOOLS: usize = 128;

/// The tools that are offered in a turn.
pub(crate) struct Toolbox {
    offered: Vec<Offered>,
    functions: Vec<Tool>,
    /// Tools that do not work: the functions that they would be, and their names.
    unavailable: Vec<(String, String)>,
}

/// A tool, and what its arguments have to be like.
pub(crate) struct Offered {
    function: String,
    pub(crate) tool: AgentTool,
    pub(crate) schema: Arc<Schema>,
}

impl Toolbox {
    /// The tools of this list whose schemas can be used, each once, and no more of them than a
    /// question may have.
    /// Of those that do not work, only the names are known.
    pub(crate) async fn of(tools: &[AgentTool], unavailable: &[String], schemas: &Schemas) -> Self {
        let mut seen = HashSet::new();
        let mut usable = Vec::new();
        for tool in tools {
            if usable.len() == MOST_TOOLS {
                tracing::debug!(
                    tools = tools.len(),
                    "not all tools of the agent are offered"
                );
                break;
            }
            if seen.insert(tool.definition.name.as_str())
                && let Some(schema) = schemas.of(&tool.definition).await
            {
                usable.push((tool.clone(), schema));
            }
        }
        let names: Vec<_> = usable.iter().map(|(tool, _)| name(tool)).collect();
        let functions = function_names(&names);
        let offer = |((tool, schema), function)| Offered {
            function,
            tool,
            schema,
        };
        let offered: Vec<_> = usable.into_iter().zip(functions).map(offer).collect();
        let functions = offered.iter().map(Offered::to_function).collect();
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

    /// The names of the capabilities behind the tools.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.offered.iter().map(|offer| name(&offer.tool)).collect()
    }

    /// The tool that the model calls so, if there is one that does not work at the moment.
    pub(crate) fn find_unavailable(&self, function: &str) -> Option<&str> {
        let mut known = self.unavailable.iter();
        let found = known.find(|(sayable, name)| sayable == function || name == function);
        found.map(|(_, name)| name.as_str())
    }

    /// What the model calls so.
    pub(crate) fn find(&self, function: &str) -> Option<&Offered> {
        self.offered.iter().find(|offer| offer.function == function)
    }
}

fn name(tool: &AgentTool) -> &str {
    &tool.definition.name
}

impl Offered {
    fn to_function(&self) -> Tool {
        let definition: &ToolDefinition = &self.tool.definition;
        Tool {
            kind: "function",
            function: Function {
                name: self.function.clone(),
                description: definition.description.clone(),
                parameters: of_an_object(&definition.input_schema),
            },
        }
    }
}

/// Some servers refuse a question altogether if the parameters of one function do not say that they
/// are an object, and with which properties.
fn of_an_object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.entry("type").or_insert(json!("object"));
        members.entry("properties").or_insert(json!({}));
    }
    schema
}
