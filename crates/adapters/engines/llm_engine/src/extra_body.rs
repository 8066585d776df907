//! Members that agents add to requests (`config.llm.extraBody`), as far as the operator permits them: others could
//! reach the operator's gateway, or pass the limits of the service.

use std::collections::BTreeMap;

use domain::{AgentConfig, FaultCode, InputFault, LlmSettings, fault::push_token};
use serde_json::Value;

use crate::{api::LlmApi, options::LlmOptionsError};

/// The names of the members that agents may add.
pub(crate) struct ExtraBody(Vec<String>);

impl ExtraBody {
    /// Fails if the service sends one of the members itself. Without a list, the usual members of the interface are
    /// permitted.
    pub(crate) fn new(
        api: LlmApi,
        permitted: Option<Vec<String>>,
    ) -> Result<Self, LlmOptionsError> {
        let usual = || api.usual_extra_body().iter().map(|it| (*it).to_owned());
        let permitted = permitted.unwrap_or_else(|| usual().collect());
        let own = permitted
            .iter()
            .find(|name| api.own_members().contains(&name.as_str()));
        match own {
            Some(name) => Err(LlmOptionsError::ExtraBody(name.clone())),
            None => Ok(Self(permitted)),
        }
    }

    /// Returns the members of an agent's requests. Those that the operator has permitted no longer are left out.
    pub(crate) fn members<'a>(
        &self,
        settings: Option<&'a LlmSettings>,
    ) -> BTreeMap<&'a str, &'a Value> {
        let members = settings.and_then(|llm| llm.extra_body.as_ref());
        let members = members.into_iter().flatten();
        let members = members.map(|(name, value)| (name.as_str(), value));
        members.filter(|(name, _)| self.permits(name)).collect()
    }

    /// Returns a fault for each member of a configuration that is not permitted. Pointers are relative to the agent.
    pub(crate) fn faults(&self, config: &AgentConfig) -> Vec<InputFault> {
        let members = config.llm.as_ref().and_then(|llm| llm.extra_body.as_ref());
        let names = members.into_iter().flatten().map(|(name, _)| name);
        let refused = names.filter(|name| !self.permits(name));
        let fault = |name: &String| {
            let mut pointer = String::from("/config/llm/extraBody");
            push_token(&mut pointer, name);
            let detail = if self.0.is_empty() {
                "the engine of the agent accepts no additional members".to_owned()
            } else {
                format!("the engine of the agent accepts {}", self.0.join(", "))
            };
            InputFault::new(pointer, FaultCode::UnknownMember, detail)
        };
        refused.map(fault).collect()
    }

    fn permits(&self, name: &str) -> bool {
        self.0.iter().any(|permitted| permitted == name)
    }
}

#[cfg(test)]
mod tests {
    use domain::ReasoningEffort;
    use serde_json::json;

    use super::*;
    use crate::openai::{
        CompletionRequest, Function, OWN_MEMBERS, ResponseFormat, Settings, StreamOptions, Tool,
    };

    #[test]
    fn members_of_the_service_cannot_be_permitted() {
        let settings = Settings {
            temperature: Some(1.0),
            top_p: Some(1.0),
            max_tokens: Some(1),
            max_completion_tokens: Some(1),
            seed: Some(1),
            stop: vec!["a".to_owned()],
            reasoning_effort: Some(ReasoningEffort::Low),
        };
        let tool = Tool {
            kind: "function",
            function: Function {
                name: "time",
                description: "",
                parameters: json!({}),
            },
        };
        let value = json!(1);
        let request = CompletionRequest {
            model: Some("a"),
            messages: &(),
            stream: true,
            stream_options: Some(StreamOptions {
                include_usage: true,
            }),
            settings: &settings,
            tools: &[tool],
            tool_choice: Some(json!("auto")),
            parallel_tool_calls: Some(true),
            response_format: Some(ResponseFormat::of_schema(&value)),
            extra_body: &BTreeMap::from([("top_k", &value)]),
        };
        let sent = serde_json::to_value(request).expect("JSON");
        let sent: Vec<_> = sent.as_object().expect("an object").keys().collect();
        assert_eq!(sent.len(), OWN_MEMBERS.len() + 1);
        for name in sent {
            let permitted = vec!["top_k".to_owned(), name.clone()];
            let permitted = ExtraBody::new(LlmApi::OpenAi, Some(permitted));
            assert_eq!(permitted.is_ok(), name == "top_k", "{name}");
        }
    }
}
