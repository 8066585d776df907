//! The configuration of an agent, returned with the content that was sent.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Fallback, FaultCode, HistoryLimits, InputFault, LlmSettings, ProfileConfig, ResponseSchema,
    Rule, Sizes, TitlesConfig, ToolEntry, UnknownMembers,
    fault::push_index,
    period::Period,
    placeholder::{self, names_user},
    sizes::{METADATA_KEY_CHARACTERS, METADATA_PAIRS, METADATA_VALUE_CHARACTERS},
};

#[cfg(feature = "schema")]
use crate::fallback::FallbackSchema;

/// String pairs that the service stores and returns, and never interprets.
pub type Metadata = BTreeMap<String, String>;

/// The schema of [`Metadata`] (`#[schema(value_type = MetadataSchema)]`). The alias alone would be
/// published as an unbounded map under the name of its Rust type.
#[cfg(feature = "schema")]
pub struct MetadataSchema;

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for MetadataSchema {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        let text = |least, most| {
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(least)
                .max_length(Some(most))
                .pattern(Some(crate::text::TEXT_PATTERN))
        };
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(
                "String pairs that the service stores and returns, and never interprets.",
            ))
            .property_names(Some(text(Some(1), METADATA_KEY_CHARACTERS)))
            .additional_properties(Some(text(None, METADATA_VALUE_CHARACTERS)))
            .max_properties(Some(METADATA_PAIRS))
            .build()
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for MetadataSchema {
    fn name() -> std::borrow::Cow<'static, str> {
        "Metadata".into()
    }
}

/// The configuration of an agent. Absent members stay absent and have their default effect.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentConfig {
    /// Name of the reply engine (`GET /api/engines` lists them). Default: the server's default
    /// engine, which is the one that the operator chose, otherwise `llm` if a model is configured,
    /// otherwise `rules`. This also applies to an agent that has `rules`: set `rules` here to make
    /// sure that they reply. A name that the server does not know is rejected, unless the agent had
    /// it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub engine: Option<String>,
    /// Engines to try in order, each once, after the engine before has failed: a name stands for the operator's
    /// model, an object names another one. An engine that was tried already or that the server does not have
    /// (any more) is skipped; an object only if its engine was tried with its model. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_items = 8, nullable = false, value_type = Option<Vec<FallbackSchema>>))]
    pub fallbacks: Option<Vec<Fallback>>,
    /// Additional system prompt. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(max_length = 32000, pattern = r"^[^\x00]*$", nullable = false)
    )]
    pub instructions: Option<String>,
    /// First message of a conversation that is created without one. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 8000,
            pattern = r"^[^\x00]*$",
            nullable = false
        )
    )]
    pub greeting: Option<String>,
    /// The profile of the agent for pages (`GET /api/profiles/{id}`), in addition to its name and greeting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub profile: Option<ProfileConfig>,
    /// True if users may hand their conversation over to staff: `PATCH /api/conversations/{id}` with
    /// `{"handledBy": "staff"}`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub allow_hand_over: Option<bool>,
    /// The time after its last message for which a conversation is kept: a whole number followed by `s`, `m`, `h`
    /// or `d`, from `1m` to `3650d`. The operator's holds if it is shorter. Default: that of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = "30d"))]
    pub retention: Option<String>,
    /// Reply of the rule engine if no rule matches. Default: built from name and capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 8000,
            pattern = r"^[^\x00]*$",
            nullable = false
        )
    )]
    pub fallback_reply: Option<String>,
    /// Rules of the rule engine. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_items = 200, nullable = false))]
    pub rules: Option<Vec<Rule>>,
    /// The JSON Schema (2020-12) that every reply must satisfy: an object, at most 16 KiB, nested at most 16 deep,
    /// without references to other documents. A `responseSchema` of a chat holds in its place. A change replaces
    /// it as a whole. Default: none, replies are texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub response_schema: Option<ResponseSchema>,
    /// Settings of the language model. Default: the operator's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub llm: Option<LlmSettings>,
    /// Titles of conversations that have none: a model writes them after the first reply. `{}` turns this
    /// on. Default: off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub titles: Option<TitlesConfig>,
    /// Limits of the conversation history that the engine receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub history: Option<HistoryLimits>,
    /// Timeout of one request to a model in milliseconds, without tools. Default 60000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 100, maximum = 600_000, nullable = false)
    )]
    pub timeout_ms: Option<u32>,
    /// The tools of the agent, beside those that its capabilities name. A name that is neither a
    /// built-in tool nor one of a configured server is rejected, unless the agent had it before.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_items = 64, nullable = false))]
    pub tools: Option<Vec<ToolEntry>>,
    /// Time in seconds for which a turn waits until its user, or the page, answers a tool call. Default
    /// 604800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 60, maximum = 2_592_000, nullable = false)
    )]
    pub action_timeout_seconds: Option<u32>,
    /// Whether users may add tools of the client to a chat (`clientTools`); keys and OAuth clients always
    /// may. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub allow_client_tools: Option<bool>,
    /// Whether users may send chats that are not stored (`store: false`); keys and OAuth clients always
    /// may. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub allow_unrecorded: Option<bool>,
    /// Maximum number of responses with tool calls in a turn. Then the model must reply without
    /// tools. Default 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 32, nullable = false)
    )]
    pub max_tool_rounds: Option<u16>,
    /// Maximum number of tool calls in a turn. Default 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 128, nullable = false)
    )]
    pub max_tool_calls: Option<u16>,
    /// The client's own string pairs. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, value_type = Option<MetadataSchema>))]
    pub metadata: Option<Metadata>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl AgentConfig {
    /// Returns the effective timeout of one request to a model.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(u64::from(self.timeout_ms.unwrap_or(60_000)))
    }

    /// Returns the faults that the schema of a single member cannot express. Pointers are relative
    /// to the configuration.
    pub fn check(&self, sizes: &Sizes) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let rules = self.rules.as_deref().unwrap_or_default();
        if rules.len() > sizes.rules as usize {
            let detail = format!("at most {} rules", sizes.rules);
            faults.push(InputFault::new("/rules", FaultCode::TooMany, detail));
        }
        for (index, rule) in rules.iter().enumerate() {
            let mut prefix = String::from("/rules");
            push_index(&mut prefix, index);
            faults.extend(rule.check().into_iter().map(|fault| fault.below(&prefix)));
        }
        faults.extend(self.check_tools());
        let llm = self.llm.iter().flat_map(LlmSettings::check);
        faults.extend(llm.map(|fault| fault.below("/llm")));
        if let Some(detail) = self
            .response_schema
            .as_ref()
            .and_then(ResponseSchema::fault)
        {
            let pointer = "/responseSchema";
            faults.push(InputFault::new(pointer, FaultCode::BadFormat, detail));
        }
        let metadata = self.metadata.iter().flat_map(check_metadata);
        faults.extend(metadata.map(|fault| fault.below("/metadata")));
        if self.retention.is_some() && self.retention().is_none() {
            let fault = InputFault::new("/retention", FaultCode::BadFormat, RETENTION_IN_WORDS);
            faults.push(fault);
        }
        let profile = self.profile.iter().flat_map(ProfileConfig::check);
        faults.extend(profile.map(|fault| fault.below("/profile")));
        faults
    }
}

impl AgentConfig {
    /// Returns the time after its last message for which a conversation is kept.
    pub fn retention(&self) -> Option<Duration> {
        parse_retention(self.retention.as_deref()?)
    }

    /// Returns whether it has a member that processes of an earlier level cannot read.
    pub fn needs_level(&self) -> bool {
        let mut fallbacks = self.fallbacks.iter().flatten();
        fallbacks.any(|fallback| fallback.model().is_some())
    }

    /// Returns whether a reply by rules can contain the name of the user.
    pub fn names_user(&self) -> bool {
        let answers = self.rules.iter().flatten().flat_map(Rule::answers);
        answers
            .chain(&self.fallback_reply)
            .any(|text| names_user(text))
    }

    /// Returns a fault for each text with an unknown placeholder, except texts that are the same as
    /// `before`. Pointers are relative to the configuration. Rules and
    /// `fallbackReply` have placeholders of their own, which their engine checks.
    pub fn check_placeholders(&self, before: Option<&Self>) -> Vec<InputFault> {
        let texts = |config: &Self| [config.instructions.clone(), config.greeting.clone()];
        let before = before.map(texts).unwrap_or_default();
        let named = ["/instructions", "/greeting"].into_iter().zip(texts(self));
        let changed = named.zip(before).filter(|((_, new), old)| new != old);
        changed
            .filter_map(|((pointer, text), _)| {
                let name = placeholder::unknown_name(text.as_deref()?)?;
                let detail = format!(
                    "'{{{{{name}}}}}' is no placeholder; with a backslash before it, it is sent as it is"
                );
                Some(InputFault::new(pointer, FaultCode::UnknownValue, detail))
            })
            .collect()
    }
}

/// The permitted times for which a conversation is kept after its last message.
pub const RETENTION: RangeInclusive<Duration> =
    Duration::from_mins(1)..=Duration::from_hours(3_650 * 24);

/// Their pattern in the published API document.
pub const RETENTION_PATTERN: &str = "^[0-9]{1,9}[smhd]$";

/// The explanation of one that is not permitted.
pub const RETENTION_IN_WORDS: &str = "must be a time from 1m to 3650d, such as 30d or 12h";

/// Parses the time for which a conversation is kept.
pub fn parse_retention(text: &str) -> Option<Duration> {
    Period::parse_in(text, RETENTION).map(|period| period.0)
}

/// Checks the string pairs of a `metadata` object. Pointers are relative to it.
pub fn check_metadata(metadata: &Metadata) -> Vec<InputFault> {
    let mut faults = Vec::new();
    if metadata.len() > METADATA_PAIRS {
        let detail = format!("at most {METADATA_PAIRS} pairs");
        faults.push(InputFault::new("", FaultCode::TooMany, detail));
    }
    for (key, value) in metadata {
        let mut pointer = String::new();
        crate::fault::push_token(&mut pointer, key);
        match key.chars().count() {
            0 => faults.push(InputFault::new(
                &*pointer,
                FaultCode::TooShort,
                "a key has at least 1 character",
            )),
            1..=METADATA_KEY_CHARACTERS => {}
            _ => faults.push(InputFault::new(
                &*pointer,
                FaultCode::TooLong,
                format!("a key has at most {METADATA_KEY_CHARACTERS} characters"),
            )),
        }
        if value.chars().count() > METADATA_VALUE_CHARACTERS {
            faults.push(InputFault::new(
                pointer,
                FaultCode::TooLong,
                format!("at most {METADATA_VALUE_CHARACTERS} characters"),
            ));
        }
    }
    faults
}
