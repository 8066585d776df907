//! A5 and A6: the cost of rejected requests, and their effect on other clients.

use std::{net::SocketAddr, thread, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use dev_load::{
    Credential, Endpoint,
    generator::{self, Connection, Round, Script},
    http::{BlockingApiClient, Method},
    latencies::median,
    runtime,
    service::{Service, generate_key},
};
use serde_json::json;

use crate::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUND_DURATION, ROUNDS, ratio},
    read::{CONNECTIONS, hello_scripts},
    workload::{Workload, text},
};

/// The time that a flood runs before and after the other client is measured.
const MARGIN: Duration = Duration::from_millis(250);

/// The body size of the bare framework: about that of a rejection.
const BODY_BYTES: usize = 400;

/// A client whose requests are all rate limited.
struct Flood {
    endpoint: Endpoint,
    process: u32,
    request: Vec<u8>,
}

impl Flood {
    /// The flood of a known principal beyond its rate limit.
    fn of_known_principal(service: &Service, workload: &Workload) -> Result<Self> {
        let draft = json!({
            "name": "too often",
            "scopes": ["agents:read"],
            "limits": { "requestsPerMinute": 1, "requestsBurst": 1 },
        });
        let made = BlockingApiClient::new(&service.endpoint()?)?.call(
            Method::POST,
            "/api/keys",
            Some(&draft),
        )?;
        Self::new(service, workload, text(&made, "secret")?.to_owned())
    }

    /// The flood of an unknown client: its key is well-formed, and its address beyond the rate
    /// limit.
    fn of_unknown_client(
        environment: &Environment,
        service: &Service,
        workload: &Workload,
    ) -> Result<Self> {
        Self::new(
            service,
            workload,
            generate_key(&environment.binaries.service)?,
        )
    }

    fn new(service: &Service, workload: &Workload, key: String) -> Result<Self> {
        let endpoint = service.endpoint()?.with_credential(Credential::Key(key));
        Ok(Self {
            request: endpoint.request("GET", &workload.agent_path()?, None),
            endpoint,
            process: service.id()?,
        })
    }

    /// Uses up the limit of the current minute.
    fn use_up(&self) -> Result<()> {
        runtime()?.block_on(async {
            let mut connection = Connection::open(self.endpoint.address).await?;
            connection.exchange(&self.request).await?;
            Ok(())
        })
    }

    fn scripts(&self) -> Vec<Script> {
        let script = Script::repeated(vec![self.request.clone()]).expect_rate_limit();
        vec![script; CONNECTIONS]
    }

    fn warm(&self) -> Result<MeasuredServer> {
        self.use_up()?;
        MeasuredServer::warm_up(self.endpoint.address, self.process, self.scripts())
    }
}

/// Measures the processor time of a rejection, beside a response of the bare framework.
pub(super) fn cost(environment: &Environment, workload: &Workload) -> Result<Vec<Figure>> {
    let guarded = environment.guarded()?;
    let hello_server = environment.bare_hello(BODY_BYTES)?;
    let principal = Flood::of_known_principal(&environment.sqlite, workload)?;
    let unknown_client = Flood::of_unknown_client(environment, &guarded, workload)?;
    let mut hello = MeasuredServer::warm_up(
        hello_server.address,
        hello_server.id(),
        hello_scripts(&hello_server),
    )?;
    let mut by_principal = principal.warm()?;
    let mut by_address = unknown_client.warm()?;
    for _ in 0..ROUNDS {
        hello.run_round()?;
        principal.use_up()?;
        by_principal.run_round()?;
        unknown_client.use_up()?;
        by_address.run_round()?;
    }
    let target = Target::AtMost(15.0);
    let figure = |row, rejected: &MeasuredServer| {
        let parts = vec![
            Part::new("rejected in all", rejected.responses(), ""),
            Part::new("rejected", median(rejected.per_second()), "/s"),
            Part::new("rejected, p99", median(rejected.percentile(99)), "ms"),
            Part::new(
                "bare actix-web, processor",
                median(hello.cpu_per_request()),
                "µs",
            ),
        ];
        Figure::new(row, target, median(rejected.cpu_per_request()), "µs", parts)
    };
    Ok(vec![
        figure(
            ("A5", "processor of a rejection (429) of a known principal"),
            &by_principal,
        ),
        figure(
            ("A5", "processor of a rejection (429) of an unknown address"),
            &by_address,
        ),
    ])
}

/// Measures the effect of one principal's flood on another. Sending the flood takes processor time
/// too: the same flood to the bare framework shows how much.
pub(super) fn effect_on_others(environment: &Environment, workload: &Workload) -> Result<Figure> {
    let hello_server = environment.bare_hello(BODY_BYTES)?;
    let flood = Flood::of_known_principal(&environment.sqlite, workload)?;
    let one = || {
        let service = &environment.sqlite;
        MeasuredServer::warm_up(
            service.endpoint()?.address,
            service.id()?,
            workload.reads(1)?,
        )
    };
    let (mut quiet, mut flooded, mut busy) = (one()?, one()?, one()?);
    let mut rejected = Vec::new();
    for _ in 0..ROUNDS {
        quiet.run_round()?;
        flood.use_up()?;
        let round = run_round_during(flood.endpoint.address, &flood.scripts(), &mut flooded)?;
        rejected.push(round.responses / round.seconds);
        run_round_during(
            hello_server.address,
            &hello_scripts(&hello_server),
            &mut busy,
        )?;
    }
    let p99 = |server: &MeasuredServer| median(server.percentile(99));
    let p50 = |server: &MeasuredServer| median(server.percentile(50));
    Ok(Figure::without_target(
        ("A6", "another's p99 during such a flood ÷ without"),
        ratio(&flooded.percentile(99), &quiet.percentile(99)),
        "×",
        vec![
            Part::new(
                "p99 with the flood at the bare framework ÷ without",
                ratio(&busy.percentile(99), &quiet.percentile(99)),
                "×",
            ),
            Part::new("rejected", median(rejected), "/s"),
            Part::new("without, median", p50(&quiet), "ms"),
            Part::new("without, p99", p99(&quiet), "ms"),
            Part::new("during the flood, median", p50(&flooded), "ms"),
            Part::new("during the flood, p99", p99(&flooded), "ms"),
            Part::new("flood at the bare framework, median", p50(&busy), "ms"),
            Part::new("flood at the bare framework, p99", p99(&busy), "ms"),
        ],
    ))
}

/// Runs a round of `server` while a flood runs.
fn run_round_during(
    address: SocketAddr,
    flood: &[Script],
    server: &mut MeasuredServer,
) -> Result<Round> {
    thread::scope(|scope| {
        let flooding = scope.spawn(|| generator::run(address, flood, ROUND_DURATION + 2 * MARGIN));
        thread::sleep(MARGIN);
        let turn = server.run_round();
        let flooded = flooding.join();
        turn?;
        flooded
            .map_err(|_panic| anyhow!("the flood panicked"))?
            .context("the flood")
    })
}
