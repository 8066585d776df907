//! Settings of providers of language models.

use std::{fmt, ops::RangeInclusive};

use domain::{
    FileKinds, is_model_name,
    web_address::{host, is_proxy_address, is_web_address},
};
use llm_engine::LlmApi;
use secrecy::SecretString;

use super::{named::NamedSettings, values::Values};

const KIND: &str = "LLM__KIND";
const BASE_URL: &str = "LLM__BASE_URL";
const API_KEY: &str = "LLM__API_KEY";
const MODEL: &str = "LLM__MODEL";
const STREAM: &str = "LLM__STREAM";
const STREAM_OPTIONS: &str = "LLM__STREAM_OPTIONS";
const MAX_TOKENS_NAME: &str = "LLM__MAX_TOKENS_NAME";
const THINK_TAGS: &str = "LLM__THINK_TAGS";
const INPUTS: &str = "LLM__INPUTS";
const EXTRA_BODY: &str = "LLM__EXTRA_BODY";
const PROXY: &str = "LLM__PROXY";
const FILE_BYTES: &str = "LLM__FILE_BYTES";
const PROVIDER_KIND: &str = "LLM__PROVIDERS__<ID>__KIND";
const PROVIDER_BASE_URL: &str = "LLM__PROVIDERS__<ID>__BASE_URL";
const PROVIDER_API_KEY: &str = "LLM__PROVIDERS__<ID>__API_KEY";
const PROVIDER_MODEL: &str = "LLM__PROVIDERS__<ID>__MODEL";
const PROVIDER_STREAM: &str = "LLM__PROVIDERS__<ID>__STREAM";
const PROVIDER_STREAM_OPTIONS: &str = "LLM__PROVIDERS__<ID>__STREAM_OPTIONS";
const PROVIDER_MAX_TOKENS_NAME: &str = "LLM__PROVIDERS__<ID>__MAX_TOKENS_NAME";
const PROVIDER_THINK_TAGS: &str = "LLM__PROVIDERS__<ID>__THINK_TAGS";
const PROVIDER_INPUTS: &str = "LLM__PROVIDERS__<ID>__INPUTS";
const PROVIDER_EXTRA_BODY: &str = "LLM__PROVIDERS__<ID>__EXTRA_BODY";
const PROVIDER_KEYS: [&str; 10] = [
    PROVIDER_KIND,
    PROVIDER_BASE_URL,
    PROVIDER_API_KEY,
    PROVIDER_MODEL,
    PROVIDER_STREAM,
    PROVIDER_STREAM_OPTIONS,
    PROVIDER_MAX_TOKENS_NAME,
    PROVIDER_THINK_TAGS,
    PROVIDER_INPUTS,
    PROVIDER_EXTRA_BODY,
];

/// The engine that `LLM__BASE_URL` configures.
pub const LLM: &str = "llm";

const KIND_FORM: &str = "openai or anthropic";
const BASE_URL_FORM: &str = "an address that begins with https:// or http://, without user and `#`, such \
                       as https://api.openai.com/v1";
/// The range of bytes of files in a request to a model, which are in memory.
const FILE_BYTES_RANGE: RangeInclusive<u64> = 1..=256 * 1024 * 1024;

const PROXY_FORM: &str = "an address that begins with http:// or https:// and has a host, such as \
                       http://proxy.internal:3128";
const API_KEY_FORM: &str = "a key of visible ASCII characters, without spaces";
const MODEL_FORM: &str = "the model of agents that name none, 1 to 256 characters";
pub(super) const BOOLEAN_FORM: &str = "true or false";
const INPUTS_FORM: &str = "image, pdf and audio, or some of them, with commas between, or none";
const EXTRA_BODY_FORM: &str =
    "names of members of requests, with commas between, such as top_k,min_p, or none";
const MAX_TOKENS_FORM: &str = "max_tokens or max_completion_tokens";

/// Settings of providers of language models.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// The providers, one engine each; `llm` is the first, if configured.
    pub providers: Vec<ModelProvider>,
    /// `LLM__PROXY`: the proxy for all providers.
    pub proxy: Option<SecretString>,
    /// `LLM__FILE_BYTES`: the maximum number of bytes of the files in a request.
    pub file_bytes: u64,
}

/// A server of language models. `Debug` shows neither its key nor the parts of
/// its address that may be secret.
#[derive(Clone)]
pub struct ModelProvider {
    /// The name of its engine.
    pub engine: String,
    /// Its interface.
    pub api: LlmApi,
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// The key that is sent to it.
    pub api_key: Option<SecretString>,
    /// The model of agents that name none.
    pub model: String,
    /// True if replies are requested in pieces.
    pub streams: bool,
    /// True to request streams with `stream_options`; learned from refusals if missing.
    pub stream_options: Option<bool>,
    /// True to name the limit of tokens `max_completion_tokens`; learned from refusals if missing.
    pub max_completion_tokens: Option<bool>,
    /// True if `<think>…</think>` at the beginning of replies is reasoning; depends on the server if missing.
    pub think_tags: Option<bool>,
    /// The kinds of files that the models take; by their server's list if missing.
    pub inputs: Option<FileKinds>,
    /// The names of the members that agents may add to requests; by the engine if missing.
    pub extra_body: Option<Vec<String>>,
}

impl fmt::Debug for ModelProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ModelProvider")
            .field("engine", &self.engine)
            .field("api", &self.api)
            .field("host", &host(&self.base_url))
            .field("has_api_key", &self.api_key.is_some())
            .field("model", &self.model)
            .field("streams", &self.streams)
            .field("stream_options", &self.stream_options)
            .field("max_completion_tokens", &self.max_completion_tokens)
            .field("think_tags", &self.think_tags)
            .field("inputs", &self.inputs)
            .field("extra_body", &self.extra_body)
            .finish_non_exhaustive()
    }
}

impl ModelSettings {
    /// Reads `LLM__…`. `used_names` are the names of other engines.
    pub(super) fn read(values: &mut Values, used_names: &[&str]) -> Self {
        let main = main_provider(values);
        let named = values.read_named(&PROVIDER_KEYS, |named| provider(named, used_names));
        let proxy = values.read_optional(PROXY, PROXY_FORM, proxy);
        let file_bytes = values.read_number(FILE_BYTES, 20 * 1024 * 1024, FILE_BYTES_RANGE);
        Self {
            providers: main
                .into_iter()
                .chain(named.into_iter().flatten())
                .collect(),
            proxy,
            file_bytes,
        }
    }
}

/// Returns true if any setting of the engine `name` is set.
pub(super) fn is_partly_configured(values: &Values, name: &str) -> bool {
    let keys = if name == LLM {
        [
            KIND,
            BASE_URL,
            API_KEY,
            MODEL,
            STREAM,
            STREAM_OPTIONS,
            MAX_TOKENS_NAME,
            THINK_TAGS,
            INPUTS,
            EXTRA_BODY,
        ]
    } else {
        PROVIDER_KEYS
    };
    keys.iter().any(|key| values.is_set_for(key, name))
}

fn main_provider(values: &mut Values) -> Option<ModelProvider> {
    let api = values.read_optional(KIND, KIND_FORM, kind);
    let base_url = values.read_optional(BASE_URL, BASE_URL_FORM, address);
    let api_key = values.read_optional(API_KEY, API_KEY_FORM, key);
    let model = values.read_optional(MODEL, MODEL_FORM, parse_model_name);
    let streams = values.read_optional(STREAM, BOOLEAN_FORM, true_or_false);
    let stream_options = values.read_optional(STREAM_OPTIONS, BOOLEAN_FORM, true_or_false);
    let max_completion_tokens =
        values.read_optional(MAX_TOKENS_NAME, MAX_TOKENS_FORM, is_max_completion_tokens);
    let think_tags = values.read_optional(THINK_TAGS, BOOLEAN_FORM, true_or_false);
    let inputs = values.read_optional(INPUTS, INPUTS_FORM, inputs);
    let extra_body = values.read_optional(EXTRA_BODY, EXTRA_BODY_FORM, member_names);
    if is_partly_configured(values, LLM) {
        values.require(BASE_URL, BASE_URL_FORM);
        values.require(MODEL, MODEL_FORM);
    }
    Some(ModelProvider {
        engine: LLM.to_owned(),
        api: api.unwrap_or_default(),
        base_url: base_url?,
        api_key,
        model: model?,
        streams: streams.unwrap_or(true),
        stream_options,
        max_completion_tokens,
        think_tags,
        inputs,
        extra_body,
    })
}

fn provider(named: &mut NamedSettings<'_>, used_names: &[&str]) -> Option<ModelProvider> {
    let api = named.read_optional(PROVIDER_KIND, KIND_FORM, kind);
    let base_url = named.read_required(PROVIDER_BASE_URL, BASE_URL_FORM, address);
    let api_key = named.read_optional(PROVIDER_API_KEY, API_KEY_FORM, key);
    let model = named.read_required(PROVIDER_MODEL, MODEL_FORM, parse_model_name);
    let streams = named.read_optional(PROVIDER_STREAM, BOOLEAN_FORM, true_or_false);
    let stream_options = named.read_optional(PROVIDER_STREAM_OPTIONS, BOOLEAN_FORM, true_or_false);
    let max_completion_tokens = named.read_optional(
        PROVIDER_MAX_TOKENS_NAME,
        MAX_TOKENS_FORM,
        is_max_completion_tokens,
    );
    let think_tags = named.read_optional(PROVIDER_THINK_TAGS, BOOLEAN_FORM, true_or_false);
    let inputs = named.read_optional(PROVIDER_INPUTS, INPUTS_FORM, inputs);
    let extra_body = named.read_optional(PROVIDER_EXTRA_BODY, EXTRA_BODY_FORM, member_names);
    let engine = named.name().to_owned();
    if engine == LLM || used_names.contains(&engine.as_str()) {
        named.reject_name(PROVIDER_BASE_URL, "an engine");
        return None;
    }
    Some(ModelProvider {
        engine,
        api: api.unwrap_or_default(),
        base_url: base_url?,
        api_key,
        model: model?,
        streams: streams.unwrap_or(true),
        stream_options,
        max_completion_tokens,
        think_tags,
        inputs,
        extra_body,
    })
}

fn kind(text: &str) -> Option<LlmApi> {
    match text {
        "openai" => Some(LlmApi::OpenAi),
        "anthropic" => Some(LlmApi::Anthropic),
        _ => None,
    }
}

fn inputs(text: &str) -> Option<FileKinds> {
    let mut kinds = FileKinds::default();
    if text.trim() == "none" {
        return Some(kinds);
    }
    for name in text.split(',') {
        match name.trim() {
            "image" => kinds.image = true,
            "pdf" => kinds.pdf = true,
            "audio" => kinds.audio = true,
            _ => return None,
        }
    }
    Some(kinds)
}

fn member_names(text: &str) -> Option<Vec<String>> {
    if text.trim() == "none" {
        return Some(Vec::new());
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_name = |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
    let names = text.split(',').map(str::trim);
    names
        .map(|name| is_name(name).then(|| name.to_owned()))
        .collect()
}

fn address(text: &str) -> Option<String> {
    is_web_address(text).then(|| text.trim_end_matches('/').to_owned())
}

fn proxy(text: &str) -> Option<SecretString> {
    is_proxy_address(text).then(|| text.into())
}

fn key(text: &str) -> Option<SecretString> {
    // The characters that are valid in an `Authorization` header.
    let is_good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_good.then(|| text.into())
}

fn parse_model_name(text: &str) -> Option<String> {
    is_model_name(text).then(|| text.to_owned())
}

fn is_max_completion_tokens(text: &str) -> Option<bool> {
    match text {
        "max_tokens" => Some(false),
        "max_completion_tokens" => Some(true),
        _ => None,
    }
}

pub(super) fn true_or_false(text: &str) -> Option<bool> {
    text.parse().ok()
}

#[cfg(test)]
mod tests;
