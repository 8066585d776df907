//! A5 and A6: what those cost who come too often, and what others notice of them.

use std::{net::SocketAddr, thread, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;

use crate::{
    bench::{
        figures::{Figure, Part, Target},
        reading::{CONNECTIONS, greeting},
        rounds::{Bearer, ROUNDS, TURN, ratio},
        stage::Stage,
        talk::{Talk, text},
    },
    rig::{
        load::{self, Client, Connection, Credential, Endpoint, Round, Script, median},
        service::{Service, generate_key},
    },
};

/// How long a flood runs before and after others are looked at.
const MARGIN: Duration = Duration::from_millis(250);

/// The size of bodies that the bare framework answers with: about that of a refusal.
const BODY_BYTES: usize = 400;

/// Somebody who comes as often as they can and is refused.
struct Flood {
    endpoint: Endpoint,
    process: u32,
    request: Vec<u8>,
}

impl Flood {
    /// By a principal that is known and has come too often.
    fn of_a_principal(service: &Service, talk: &Talk) -> Result<Self> {
        let draft = json!({
            "name": "too often",
            "scopes": ["agents:read"],
            "limits": { "requestsPerMinute": 1, "requestsBurst": 1 },
        });
        let made =
            Client::connect(&service.endpoint()?)?.call("POST", "/api/keys", Some(&draft))?;
        Self::new(service, talk, text(&made, "secret")?.to_owned())
    }

    /// By somebody unknown, whose key has the right form and whose address has come too often.
    fn of_a_stranger(stage: &Stage, service: &Service, talk: &Talk) -> Result<Self> {
        Self::new(service, talk, generate_key(&stage.binaries.service)?)
    }

    fn new(service: &Service, talk: &Talk, key: String) -> Result<Self> {
        let endpoint = service.endpoint()?.shown(Credential::Key(key));
        Ok(Self {
            request: endpoint.request("GET", &talk.agent_path()?, None),
            endpoint,
            process: service.id()?,
        })
    }

    /// Uses up what is granted each minute, so that from now on nothing is.
    fn use_up(&self) -> Result<()> {
        load::runtime()?.block_on(async {
            let mut connection = Connection::open(self.endpoint.address).await?;
            connection.exchange(&self.request).await?;
            Ok(())
        })
    }

    fn scripts(&self) -> Vec<Script> {
        let script = Script::repeated(vec![self.request.clone()]).refused();
        vec![script; CONNECTIONS]
    }

    fn warm(&self) -> Result<Bearer> {
        self.use_up()?;
        Bearer::warm(self.endpoint.address, self.process, self.scripts())
    }
}

/// What a refusal costs the processor, beside an answer of the bare framework.
pub(super) fn cost(stage: &Stage, talk: &Talk) -> Result<Vec<Figure>> {
    let guarded = stage.guarded()?;
    let listening = stage.bare_hello(BODY_BYTES)?;
    let principal = Flood::of_a_principal(&stage.sqlite, talk)?;
    let stranger = Flood::of_a_stranger(stage, &guarded, talk)?;
    let mut hello = Bearer::warm(listening.address, listening.id(), greeting(&listening))?;
    let mut by_principal = principal.warm()?;
    let mut by_address = stranger.warm()?;
    for _ in 0..ROUNDS {
        hello.take_turn()?;
        principal.use_up()?;
        by_principal.take_turn()?;
        stranger.use_up()?;
        by_address.take_turn()?;
    }
    let target = Target::AtMost(15.0);
    let figure = |row, refused: &Bearer| {
        let parts = vec![
            Part::new("refused in all", refused.answers(), ""),
            Part::new("refused", median(refused.per_second()), "/s"),
            Part::new("refused, p99", median(refused.percentile(99)), "ms"),
            Part::new("bare actix-web, processor", median(hello.cost()), "µs"),
        ];
        Figure::new(row, target, median(refused.cost()), "µs", parts)
    };
    Ok(vec![
        figure(
            ("A5", "processor of a refusal (429) of a known principal"),
            &by_principal,
        ),
        figure(
            ("A5", "processor of a refusal (429) of a stranger's address"),
            &by_address,
        ),
    ])
}

/// What one principal notices of the flood of another. That the machine is busy with sending the
/// flood is noticed too: the same flood to the bare framework shows how much.
pub(super) fn others(stage: &Stage, talk: &Talk) -> Result<Figure> {
    let listening = stage.bare_hello(BODY_BYTES)?;
    let flood = Flood::of_a_principal(&stage.sqlite, talk)?;
    let one = || {
        let service = &stage.sqlite;
        Bearer::warm(service.endpoint()?.address, service.id()?, talk.reading(1)?)
    };
    let (mut quiet, mut flooded, mut busy) = (one()?, one()?, one()?);
    let mut refused = Vec::new();
    for _ in 0..ROUNDS {
        quiet.take_turn()?;
        flood.use_up()?;
        let round = during(flood.endpoint.address, &flood.scripts(), &mut flooded)?;
        refused.push(round.answers / round.seconds);
        during(listening.address, &greeting(&listening), &mut busy)?;
    }
    let p99 = |bearer: &Bearer| median(bearer.percentile(99));
    let p50 = |bearer: &Bearer| median(bearer.percentile(50));
    Ok(Figure::told(
        ("A6", "another's p99 during such a flood ÷ without"),
        ratio(&flooded.percentile(99), &quiet.percentile(99)),
        "×",
        vec![
            Part::new(
                "p99 with the flood at the bare framework ÷ without",
                ratio(&busy.percentile(99), &quiet.percentile(99)),
                "×",
            ),
            Part::new("refused", median(refused), "/s"),
            Part::new("without, median", p50(&quiet), "ms"),
            Part::new("without, p99", p99(&quiet), "ms"),
            Part::new("during the flood, median", p50(&flooded), "ms"),
            Part::new("during the flood, p99", p99(&flooded), "ms"),
            Part::new("flood at the bare framework, median", p50(&busy), "ms"),
            Part::new("flood at the bare framework, p99", p99(&busy), "ms"),
        ],
    ))
}

/// Has `bearer` take a turn while a flood runs.
fn during(address: SocketAddr, flood: &[Script], bearer: &mut Bearer) -> Result<Round> {
    thread::scope(|scope| {
        let flooding = scope.spawn(|| load::run(address, flood, TURN + 2 * MARGIN));
        thread::sleep(MARGIN);
        let turn = bearer.take_turn();
        let flooded = flooding.join();
        turn?;
        flooded
            .map_err(|_panic| anyhow!("the flood panicked"))?
            .context("the flood")
    })
}
