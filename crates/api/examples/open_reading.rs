//! The service without access control: every request has the same principal with all scopes.
//!
//! `cargo xtask bench` compares the service with it, to measure the cost of access control. So it
//! is built from the same store, use cases, routes and middleware as the service, but reads no
//! credentials and counts no requests. If `COUNT_REQUESTS` is set in its environment, it counts
//! requests. It has the settings of the service.

#![expect(clippy::print_stdout, reason = "the caller reads the address there")]

use std::{net::TcpListener, sync::Arc, time::Duration};

use access::{AuthContext, jwt};
use actix_web::{
    App, Error, HttpMessage as _,
    dev::{Server, Service as _, ServiceFactory, ServiceRequest, ServiceResponse},
    middleware::from_fn,
};
use anyhow::{Result, ensure};
use api::{
    routes,
    settings::{self, Settings},
    telemetry,
    wiring::{self, Parts, Peers, ServerParts},
};
use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scope, TenantId};
use kit::{
    auth::rate_limit,
    layers::{cors, problem_responses, read_body, security_headers, trace_request},
};
use server::Versions;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use writes::{WriteTimeouts, Writes};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The process is killed and needs no orderly shutdown.
const GRACE: Duration = Duration::ZERO;

#[tokio::main]
async fn main() -> Result<()> {
    // A provider that is already installed is kept.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    jwt::install_provider();
    let settings = Settings::load(None, settings::environment())?;
    ensure!(
        settings.is_loopback(),
        "access is not controlled: listen on a loopback address"
    );
    let (metrics, _log) = telemetry::init(&settings.log)?;
    let listener = TcpListener::bind(settings.server.address())?;
    let address = listener.local_addr()?;
    let tasks = TaskTracker::new();
    let store = wiring::open_store(&settings, false, &tasks).await?;
    let stop = CancellationToken::new();
    let public_url = settings.server.public_url(address);
    let storage = store.storage();
    let timeouts = WriteTimeouts::default();
    let writes = Writes::start(Arc::clone(&storage.writes), timeouts, &tasks);
    let peers = Peers::start(&settings, &public_url, &store, &storage, &tasks, &stop).await?;
    let wired = wiring::wire(Parts {
        store: &store,
        settings: &settings,
        storage,
        writes,
        peers,
        engines: wiring::built_in_engines()?,
        tools: Vec::new(),
        file_memory: application::FileMemory::default(),
        metrics,
        public_url,
        tasks,
        tool_tasks: TaskTracker::new(),
        stop,
    })
    .await?;
    let server = serve(listener, settings.server.workers, wired)?;
    println!("listening on http://{address}");
    Ok(server.await?)
}

fn serve(listener: TcpListener, workers: usize, wired: ServerParts) -> Result<Server> {
    let principal_of_all = principal_of_all()?;
    let closing = CancellationToken::new();
    let server = if std::env::var_os("COUNT_REQUESTS").is_some() {
        server::serve(
            listener,
            workers,
            GRACE,
            &closing,
            Versions::Http1,
            move || {
                outer_layers(
                    inner_layers(&wired).wrap(from_fn(rate_limit)),
                    principal_of_all.clone(),
                )
            },
        )
    } else {
        server::serve(
            listener,
            workers,
            GRACE,
            &closing,
            Versions::Http1,
            move || outer_layers(inner_layers(&wired), principal_of_all.clone()),
        )
    };
    Ok(server?)
}

/// Returns the principal of all requests.
fn principal_of_all() -> Result<Arc<AuthContext>> {
    Ok(Arc::new(AuthContext {
        principal: Principal {
            tenant: TenantId::DEFAULT.parse()?,
            id: PrincipalId::new("anybody"),
            scopes: Scope::ALL.iter().copied().collect(),
            user_id: None,
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: None,
        source: Arc::new(CredentialSource::ExternalToken),
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: None,
    }))
}

/// The service factory of an app with middleware.
trait Application:
    ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse,
        Error = Error,
        InitError = (),
    > + 'static
{
}

impl<T> Application for T where
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse,
            Error = Error,
            InitError = (),
        > + 'static
{
}

/// Adds the middleware inside of access control.
fn inner_layers(wired: &ServerParts) -> App<impl Application + use<>> {
    App::new()
        .configure(|config| routes::configure(config, wired))
        .wrap(from_fn(read_body))
}

/// Adds the middleware outside of access control, and a layer that sets the principal.
fn outer_layers(
    app: App<impl Application>,
    auth_context: Arc<AuthContext>,
) -> App<impl Application> {
    app.wrap_fn(move |request, service| {
        request.extensions_mut().insert(Arc::clone(&auth_context));
        service.call(request)
    })
    .wrap(from_fn(problem_responses))
    .wrap(from_fn(cors))
    .wrap(from_fn(security_headers))
    .wrap(from_fn(trace_request))
}
