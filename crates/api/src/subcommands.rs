//! Executes the subcommands of the command line, which `cli` parses.

mod credentials;
mod documents;
mod healthcheck;
mod signals;
mod signing_keys;
mod store;

use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Error, Result, anyhow, bail};
use domain::CredentialSecret;
use ports::RepositoryError;
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;

use self::{signals::Signals, store::IfStoreMissing};
use crate::{
    cli::{Command, CommandLine, ConfigCommand, HealthcheckOptions, ServeOptions, TenantsCommand},
    service::Service,
    settings::{self, Settings},
    telemetry,
    wiring::{self, EnginesByName},
};

/// The time for which the end of the process waits for threads of the runtime: a look-up of a host
/// name can hang for longer.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);

/// The time in which a text of the server must be printed.
const PRINT_TIMEOUT: Duration = Duration::from_secs(1);

/// Executes a command line, for a service with the given reply engines, and prints its error, or that
/// of the engines.
pub fn run(line: CommandLine, engines: impl FnOnce() -> io::Result<EnginesByName>) -> ExitCode {
    let outcome = Runtime::new().map_err(Error::from).and_then(|runtime| {
        let outcome = runtime.block_on(execute(line, engines()?));
        runtime.shutdown_timeout(THREADS_TIMEOUT);
        outcome
    });
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let message = ports::error::with_causes(error.as_ref());
    let _ = print_in_time(move || Ok(writeln!(io::stderr(), "agent-service: {message}")?));
    ExitCode::FAILURE
}

async fn execute(line: CommandLine, engines: EnginesByName) -> Result<()> {
    // The process has one TLS and crypto provider; one that is already installed is kept.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    access::jwt::install_provider();
    let names: Vec<_> = engines.keys().map(String::as_str).collect();
    let settings = Settings::load_for(&names, line.config.as_deref(), settings::environment());
    match line.command_or_serve() {
        Command::Serve(options) => serve(&settings?, options, engines).await,
        Command::Migrate => migrate(&settings?).await,
        Command::Keys(command) => credentials::keys(settings, command).await,
        Command::Clients(command) => credentials::clients(&settings?, command).await,
        Command::SigningKeys(command) => signing_keys::signing_keys(&settings?, command).await,
        Command::Tenants(command) => tenants(&settings?, command).await,
        Command::Config(ConfigCommand::Check) => {
            let settings = settings?;
            let startup_summary = wiring::startup_summary(&settings, &engines);
            wiring::choose_engines(&settings, engines, &TaskTracker::new())?;
            wiring::check_programs(&settings)?;
            wiring::check_bus(&settings.bus)?;
            wiring::check_regions(&settings.region)?;
            print_line("the configuration is valid")?;
            for misnamed in &settings.misnamed {
                print_line(&misnamed.to_string())?;
            }
            print_line(&startup_summary)
        }
        Command::Openapi => documents::print_openapi(&settings?),
        Command::Asyncapi => documents::print_asyncapi(&settings?),
        Command::Healthcheck(options) => healthcheck(settings, options).await,
    }
}

async fn serve(settings: &Settings, options: ServeOptions, engines: EnginesByName) -> Result<()> {
    // Before the start, which may wait for the database. The first process of a container ignores
    // signals without handlers.
    let mut signals = Signals::handle()?;
    let (metrics, _log) = telemetry::init(&settings.log)?;
    if !wiring::has_files(settings)? {
        tracing::warn!("{}", wiring::NO_FILES);
    }
    for misnamed in &settings.misnamed {
        tracing::warn!("{misnamed}");
    }
    match rlimit::increase_nofile_limit(rlimit::INFINITY) {
        Ok(descriptors) => {
            tracing::debug!(descriptors, "limit of open files raised to the maximum");
        }
        Err(error) => {
            tracing::warn!(%error, "limit of open files cannot be raised; continuing with the current one");
        }
    }
    let startup_summary = wiring::startup_summary(settings, &engines);
    let has_console = settings.console.is_enabled;
    let show_first_key =
        Box::new(move |key: &CredentialSecret, url: &str| show_first_key(key, url, has_console));
    let no_migrate = options.no_migrate;
    let started = Service::start(settings, no_migrate, engines, metrics, show_first_key);
    let Some(mut service) = start_or_stop(started, &mut signals).await? else {
        return Ok(());
    };
    log_start(settings, &service, &startup_summary);
    let signal = tokio::select! {
        ended = service.ended() => return ended,
        signal = signals.stopping() => signal,
    };
    let delay = settings.server.drain_delay(io::stderr().is_terminal());
    tracing::info!(
        signal,
        ?delay,
        "shutdown requested; draining (a second signal aborts)"
    );
    tokio::select! {
        () = service.drain(delay) => {
            tracing::info!("shutdown complete");
            Ok(())
        }
        _ = signals.stopping() => bail!("aborted by a second signal"),
    }
}

/// Waits for the start. Returns `None` if a signal stopped it.
async fn start_or_stop(
    started: impl Future<Output = Result<Service>>,
    signals: &mut Signals,
) -> Result<Option<Service>> {
    tokio::select! {
        service = started => service.map(Some),
        signal = signals.stopping() => {
            tracing::info!(signal, "shutdown requested during the start");
            Ok(None)
        }
    }
}

/// Prints the address on stdout, and logs what was started.
fn log_start(settings: &Settings, service: &Service, startup_summary: &str) {
    let url = format!("http://{}", service.address);
    let listening = format!("listening on {url}");
    if let Err(error) = print_in_time(move || print_line(&listening)) {
        tracing::warn!(%error, "listening address cannot be written to stdout");
    }
    tracing::info!(store = %settings.database.url, "listening on {url}");
    if let Some(bus) = &settings.bus.url {
        if settings.region.home.is_some() {
            tracing::info!(%bus, "sharing limits with other nodes of the region");
        } else {
            tracing::info!(%bus, "sharing signals and limits with other processes");
        }
    }
    tracing::info!("{startup_summary}");
}

/// Prints a key on stderr, with a command to try it. The key is shown only once. Returns true if it
/// was printed.
fn show_first_key(key: &CredentialSecret, url: &str, has_console: bool) -> bool {
    let key = key.reveal();
    let console = if has_console {
        format!("Sign in to the console with it:\n\n    {url}/console\n\n")
    } else {
        String::new()
    };
    let text = format!(
        "\nThis store had no API key yet. Its first one, with all scopes, shown only now:\n\n    \
         {key}\n\n{console}Try it:\n\n    curl -X POST {url}/api/agents -H 'X-API-Key: {key}' \
         -H 'Content-Type: application/json' -d '{{\"name\":\"Ada\"}}'\n\n"
    );
    let printed = print_in_time(move || Ok(io::stderr().write_all(text.as_bytes())?));
    if let Err(error) = &printed {
        tracing::error!(
            %error,
            "first API key cannot be printed; deleting it, so a key that appears later is not valid"
        );
    }
    printed.is_ok()
}

async fn migrate(settings: &Settings) -> Result<()> {
    let seconds = settings.database.start_limit.as_secs();
    let waiting = format!("waiting for the database, for at most {seconds} s");
    let report = |reason: &str| print_note(&format!("{waiting}: {reason}"));
    let applied = wiring::migrate_store(settings, report, &TaskTracker::new()).await?;
    print_line(&format!("{applied} migration(s) applied"))
}

async fn tenants(settings: &Settings, command: TenantsCommand) -> Result<()> {
    let if_missing = match command {
        TenantsCommand::Create { .. } => IfStoreMissing::Create,
        TenantsCommand::List => IfStoreMissing::Fail,
    };
    let store = store::open(settings, if_missing, &TaskTracker::new()).await?;
    let repository = store.storage().tenants;
    let (clock, _) = wiring::system();
    let outcome = match command {
        TenantsCommand::Create { id } => {
            let created = repository.insert(&id, clock.now()).await;
            created.map_err(|error| match error {
                RepositoryError::Conflict { .. } => anyhow!("tenant '{id}' already exists"),
                other => Error::new(other).context(format!("tenant '{id}' cannot be created")),
            })
        }
        TenantsCommand::List => repository.list().await.map_err(Into::into).and_then(|all| {
            all.iter().try_for_each(|tenant| {
                print_line(&format!("{}  since {}", tenant.id, tenant.created_at))
            })
        }),
    };
    store.close().await;
    outcome
}

async fn healthcheck(
    settings: Result<Settings, settings::SettingsError>,
    options: HealthcheckOptions,
) -> Result<()> {
    let url = if let Some(url) = options.url {
        url
    } else {
        let mut address = settings?.server.address();
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        format!("http://{address}")
    };
    let status = healthcheck::fetch_status(&url);
    match tokio::time::timeout(Duration::from_secs(3), status).await {
        Ok(Ok(200)) => print_line("ready"),
        Ok(Ok(status)) => bail!("not ready: {status}"),
        Ok(Err(error)) => Err(error).with_context(|| format!("{url} does not answer")),
        Err(_elapsed) => bail!("{url} does not answer in time"),
    }
}

/// Prints a note on stderr, beside the output of a command.
fn print_note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints a line on stdout.
fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Prints a text of the server, which starts and ends even if its output is not read: fails after a
/// second.
fn print_in_time(print: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || sender.send(print()))?;
    receiver
        .recv_timeout(PRINT_TIMEOUT)
        .context("the output is not read")?
}
