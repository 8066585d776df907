//! The whole configuration.

use std::path::Path;

use super::{
    AuthSettings, BusSettings, ConsoleSettings, ConversationSettings, DatabaseSettings,
    EngineSettings, ErasureSettings, EventSettings, FileSettings, LimitSettings, LogSettings,
    MisnamedVariable, ModelSettings, OutboundSettings, RegionSettings, ServerSettings, SettingKey,
    SettingsError, ToolServer, protocols, sources::gather, tool_servers, values::Values,
};

/// The engine of every server.
pub const RULES: &str = "rules";
/// The tools of every server.
const BUILT_IN_TOOLS: &[&str] = &["calculator", "hand_over", "time"];

/// The whole configuration as plain values. `Debug` shows no secrets.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATABASE_…`: the store.
    pub database: DatabaseSettings,
    /// `BUS__…`: the server between processes.
    pub bus: BusSettings,
    /// `REGION__…` and `REGIONS__…`: this region, and the others.
    pub region: RegionSettings,
    /// `SERVER__…`: the address of the service, and the URL under which clients reach it.
    pub server: ServerSettings,
    /// `PROTOCOLS__…`: the protocols of other products' clients that are turned off.
    pub disabled_protocols: Vec<&'static str>,
    /// `CONSOLE__…`: the console.
    pub console: ConsoleSettings,
    /// `AUTH__…`: authentication.
    pub auth: AuthSettings,
    /// `LIMITS__…`: limits of sizes and rates.
    pub limits: LimitSettings,
    /// `ENGINES__…`: reply engines.
    pub engines: EngineSettings,
    /// `LLM__…`: providers of language models.
    pub models: ModelSettings,
    /// `MCP__SERVERS__…`: tool servers.
    pub tool_servers: Vec<ToolServer>,
    /// `EVENTS__…`: the event log.
    pub events: EventSettings,
    /// `FILES__…`: files.
    pub files: FileSettings,
    /// `OUTBOUND__…`: requests to addresses that tenants name.
    pub outbound: OutboundSettings,
    /// The erasure of deleted data.
    pub erasure: ErasureSettings,
    /// Settings of conversations.
    pub conversations: ConversationSettings,
    /// `LOG__…`: level and format of the log.
    pub log: LogSettings,
    /// Variables that are ignored, although their names are nearly those of settings.
    pub misnamed: Vec<MisnamedVariable>,
}

impl Settings {
    /// Reads defaults, then `file`, then `environment` (see [`environment`]); later sources take
    /// precedence. An empty variable counts as not set. All errors are reported together, by name
    /// and never by value.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        Self::load_and_check(file, environment, |_, _| ())
    }

    /// Like [`Settings::load`], for a service with these engines and those that `LLM__…`
    /// configures. Only one of them can be the default.
    pub fn load_for(
        engines: &[&str],
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        Self::load_and_check(file, environment, |settings, values| {
            let models = settings.models.providers.iter();
            let models = models.map(|provider| provider.engine.as_str());
            let known = engines.iter().copied().chain(models).collect();
            settings.engines.check_default(values, &known);
        })
    }

    fn load_and_check(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        check: impl FnOnce(&Self, &mut Values),
    ) -> Result<Self, SettingsError> {
        let mut values = gather(file, environment, &keys())?;
        let settings = Self::read(&mut values);
        check(&settings, &mut values);
        let invalid = values.into_invalid();
        if invalid.is_empty() {
            Ok(settings)
        } else {
            Err(SettingsError::Invalid(invalid))
        }
    }

    /// Returns true if only this machine can reach the service. Otherwise a store that has never
    /// had a key must be given one, because a printed key could be read by others.
    pub fn is_loopback(&self) -> bool {
        self.server.host.to_canonical().is_loopback()
    }

    fn read(values: &mut Values) -> Self {
        let database = DatabaseSettings::read(values);
        let bus = BusSettings::read(values, &database.url);
        let region = RegionSettings::read(values, &database.url);
        let server = ServerSettings::read(values);
        let disabled_protocols = protocols::read(values);
        let console = ConsoleSettings::read(values);
        let auth = AuthSettings::read(values, &server);
        Self {
            database,
            bus,
            region,
            server,
            disabled_protocols,
            console,
            auth,
            limits: LimitSettings::read(values),
            engines: EngineSettings::read(values),
            models: ModelSettings::read(values, &[RULES]),
            tool_servers: tool_servers::read(values, BUILT_IN_TOOLS),
            events: EventSettings::read(values),
            files: FileSettings::read(values),
            outbound: OutboundSettings::read(values),
            erasure: ErasureSettings::read(values),
            conversations: ConversationSettings::read(values),
            log: LogSettings::read(values),
            misnamed: values.misnamed().to_vec(),
        }
    }
}

/// Returns all settings, in the order in which they are documented.
pub fn keys() -> Vec<SettingKey> {
    let mut values = Values::default();
    Settings::read(&mut values);
    values.into_keys()
}

/// Returns the variables of this process, for [`Settings::load`]. Nothing else reads them. Invalid
/// Unicode is replaced by replacement characters; such a value is rejected if it is one of our
/// settings.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| {
        (
            name.to_string_lossy().into_owned(),
            value.to_string_lossy().into_owned(),
        )
    })
}
