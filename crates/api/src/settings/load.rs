//! The whole configuration.

use std::path::Path;

use super::{
    AuthSettings, DatabaseUrl, EngineSettings, EventSettings, Key, LimitSettings, LogSettings,
    ModelSettings, ServerSettings, SettingsError, ToolServer, sources::gather, tool_servers,
    values::Values,
};

/// The engine that every server has.
pub const RULES: &str = "rules";
/// Tools that every server has.
const BUILT_IN_TOOLS: &[&str] = &["calculator", "time"];

/// The whole configuration, as plain values. `Debug` shows no secret.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATABASE_URL`: the store.
    pub database: DatabaseUrl,
    /// `SERVER__…`: where the service listens, and what it is called from outside.
    pub server: ServerSettings,
    /// `AUTH__…`: who is let in.
    pub auth: AuthSettings,
    /// `LIMITS__…`: how much may come in.
    pub limits: LimitSettings,
    /// `ENGINES__…`: who answers.
    pub engines: EngineSettings,
    /// `LLM__…`: who serves language models.
    pub models: ModelSettings,
    /// `MCP__SERVERS__…`: who has tools.
    pub tool_servers: Vec<ToolServer>,
    /// `EVENTS__…`: the log of changes.
    pub events: EventSettings,
    /// `LOG__…`: what is told, and how.
    pub log: LogSettings,
}

impl Settings {
    /// Reads defaults, then `file`, then `environment` (see [`environment`]); the later wins. An
    /// empty variable counts as not set. Everything wrong is told at once, by name and never by
    /// value.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        Self::load_judged(file, environment, |_, _| ())
    }

    /// Reads them as [`Settings::load`] does, for a service with these engines and those that
    /// `LLM__…` names: no other can be the default.
    pub fn load_for(
        engines: &[&str],
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        Self::load_judged(file, environment, |settings, values| {
            let models = settings.models.providers.iter();
            let models = models.map(|provider| provider.engine.as_str());
            let known = engines.iter().copied().chain(models).collect();
            settings.engines.judge(values, &known);
        })
    }

    fn load_judged(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        judge: impl FnOnce(&Self, &mut Values),
    ) -> Result<Self, SettingsError> {
        let mut values = gather(file, environment, &keys())?;
        let settings = Self::read(&mut values);
        judge(&settings, &mut values);
        let invalid = values.into_invalid();
        if invalid.is_empty() {
            Ok(settings)
        } else {
            Err(SettingsError::Invalid(invalid))
        }
    }

    /// Whether only this machine can reach the service. Elsewhere a store that has never held a
    /// key must be given one: nobody may be let in by a key that was printed to whoever looks.
    pub fn is_loopback(&self) -> bool {
        self.server.host.to_canonical().is_loopback()
    }

    fn read(values: &mut Values) -> Self {
        let database = DatabaseUrl::read(values);
        let server = ServerSettings::read(values);
        let auth = AuthSettings::read(values, &server);
        Self {
            database,
            server,
            auth,
            limits: LimitSettings::read(values),
            engines: EngineSettings::read(values),
            models: ModelSettings::read(values, &[RULES]),
            tool_servers: tool_servers::read(values, BUILT_IN_TOOLS),
            events: EventSettings::read(values),
            log: LogSettings::read(values),
        }
    }
}

/// Every setting, in the order in which they are documented.
pub fn keys() -> Vec<Key> {
    let mut values = Values::default();
    Settings::read(&mut values);
    values.into_keys()
}

/// The variables of this process, for [`Settings::load`]: the one place where they are read. What
/// is not Unicode is kept with replacement characters, and refused if it turns out to be ours.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| {
        (
            name.to_string_lossy().into_owned(),
            value.to_string_lossy().into_owned(),
        )
    })
}
