//! The service without access: everybody is let in as one and the same principal with all scopes.
//!
//! `cargo xtask bench` holds the service against it, to see what access costs. So it is put
//! together like the service, from the same store, use cases, routes and layers, except that no
//! credential is looked at and no request is counted. With `COUNT_REQUESTS` set in its environment
//! it counts requests all the same. It takes the service's settings.

#![expect(clippy::print_stdout, reason = "the caller reads the address there")]

use std::{net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    App, Error, HttpMessage as _,
    dev::{Server, Service as _, ServiceFactory, ServiceRequest, ServiceResponse},
    middleware::from_fn,
};
use anyhow::{Result, ensure};
use api::{
    access::limit,
    layers::{normalise, observe, receive, secure, share},
    listener, routes,
    settings::{self, Settings},
    telemetry,
    wiring::{self, Parts, Store, Wired},
};
use application::access::{Entrant, jwt};
use domain::{LimitOverrides, Principal, PrincipalId, Scope, Standing, TenantId};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// It is killed, not asked to end.
const GRACE: Duration = Duration::ZERO;

#[tokio::main]
async fn main() -> Result<()> {
    // Where one is installed already, it stays.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    jwt::install_provider();
    let settings = Settings::load(None, settings::environment())?;
    ensure!(settings.is_loopback(), "everybody would be let in");
    let listener = TcpListener::bind(settings.server.address())?;
    let address = listener.local_addr()?;
    let tasks = TaskTracker::new();
    let store = Store::open(&settings.database, true, &tasks).await?;
    wiring::prepare_schema(&store, false).await?;
    let wired = wiring::wire(Parts {
        settings: &settings,
        storage: store.storage(),
        engines: wiring::built_in_engines()?,
        metrics: telemetry::init(&settings.log)?,
        public_url: settings.server.public_url(address),
        tasks,
        tool_tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
    })
    .await?;
    let server = serve(listener, settings.server.workers, wired)?;
    println!("listening on http://{address}");
    Ok(server.await?)
}

fn serve(listener: TcpListener, workers: usize, wired: Wired) -> Result<Server> {
    let anybody = anybody()?;
    let server = if std::env::var_os("COUNT_REQUESTS").is_some() {
        listener::serve(listener, workers, GRACE, move || {
            outside(inside(wired.clone()).wrap(from_fn(limit)), anybody.clone())
        })
    } else {
        listener::serve(listener, workers, GRACE, move || {
            outside(inside(wired.clone()), anybody.clone())
        })
    };
    Ok(server?)
}

/// Everybody.
fn anybody() -> Result<Arc<Entrant>> {
    Ok(Arc::new(Entrant {
        principal: Principal {
            tenant: TenantId::DEFAULT.parse()?,
            id: PrincipalId::new("anybody"),
            scopes: Scope::ALL.iter().copied().collect(),
            user_id: None,
        },
        credential: None,
        standing: Standing::ForeignToken,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: None,
    }))
}

/// What layers make of an app.
trait Layered:
    ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse,
        Error = Error,
        InitError = (),
    > + 'static
{
}

impl<T> Layered for T where
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse,
            Error = Error,
            InitError = (),
        > + 'static
{
}

/// What the service has behind access.
fn inside(wired: Wired) -> App<impl Layered> {
    App::new()
        .app_data(wired.state)
        .app_data(wired.services)
        .configure(routes::configure)
        .wrap(from_fn(receive))
}

/// What the service has before access, and in the place of access an entrant who is always there.
fn outside(app: App<impl Layered>, entrant: Arc<Entrant>) -> App<impl Layered> {
    app.wrap_fn(move |request, service| {
        request.extensions_mut().insert(Arc::clone(&entrant));
        service.call(request)
    })
    .wrap(from_fn(normalise))
    .wrap(from_fn(share))
    .wrap(from_fn(secure))
    .wrap(from_fn(observe))
}
