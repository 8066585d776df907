//! A1 to A4: what a read costs more because it is known who reads.

use anyhow::Result;

use crate::{
    bench::{
        figures::{Figure, Part},
        reading::CONNECTIONS,
        rounds::{Bearer, ROUNDS, ratio},
        stage::Stage,
        talk::Talk,
    },
    rig::{
        load::{Credential, Script, median},
        service::Service,
    },
};

/// Tokens of a round. Each is used once, so that nobody has seen any of them before.
const TOKENS: usize = 12_000;

/// Reads an agent in turns from the service, by all sorts of credentials, and from the service
/// without access.
pub(super) fn measure(stage: &Stage, talk: &Talk) -> Result<Vec<Figure>> {
    let open = Open::start(stage, false)?;
    let counted = Open::start(stage, true)?;
    let token = Credential::Token(stage.issuer.token("reader")?);
    let by_token = Script::repeated(vec![talk.read(&token)?]);
    let mut batches = batches(stage, talk)?.into_iter();
    let mut next_batch = || batches.next().unwrap_or_default();

    let service = &stage.sqlite;
    let mut without = open.warm()?;
    let mut by_key = warm(service, talk.reading(CONNECTIONS)?)?;
    let mut by_token = warm(service, vec![by_token; CONNECTIONS])?;
    let mut by_new_token = warm(service, next_batch())?;
    let mut limits_alone = counted.warm()?;
    for _ in 0..ROUNDS {
        by_new_token.go_on_with(next_batch());
        for bearer in [
            &mut without,
            &mut by_key,
            &mut by_token,
            &mut by_new_token,
            &mut limits_alone,
        ] {
            bearer.take_turn()?;
        }
    }
    let without = &without;
    let mut figures = vec![
        compared(
            ("A1", "GET agent by API key ÷ without access"),
            ("by API key", &by_key),
            without,
        ),
        compared(
            ("A2", "GET agent by a token seen before ÷ without access"),
            ("by a token seen before", &by_token),
            without,
        ),
        compared(
            (
                "A3",
                "GET agent by tokens never seen (ES256) ÷ without access",
            ),
            ("by tokens never seen", &by_new_token),
            without,
        ),
        compared(
            (
                "A4",
                "GET agent, counted but not recognised ÷ without access",
            ),
            ("counted", &limits_alone),
            without,
        ),
    ];
    figures[0].from.extend(told("without access", without));
    Ok(figures)
}

/// A service without access, with an agent of its own.
struct Open {
    service: Service,
    talk: Talk,
}

impl Open {
    fn start(stage: &Stage, counted: bool) -> Result<Self> {
        let service = stage.open_reading(counted)?;
        let talk = Talk::prepare(service.endpoint()?)?;
        Ok(Self { service, talk })
    }

    fn warm(&self) -> Result<Bearer> {
        warm(&self.service, self.talk.reading(CONNECTIONS)?)
    }
}

fn warm(service: &Service, scripts: Vec<Script>) -> Result<Bearer> {
    Bearer::warm(service.endpoint()?.address, service.id()?, scripts)
}

/// Scripts for each round and for warming up, in which each token has a user of its own.
fn batches(stage: &Stage, talk: &Talk) -> Result<Vec<Vec<Script>>> {
    let request = |number: usize| {
        let token = stage.issuer.token(&format!("reader {number}"))?;
        talk.read(&Credential::Token(token))
    };
    let each = TOKENS / CONNECTIONS;
    let script = |first: usize| {
        let requests: Result<_> = (first..first + each).map(request).collect();
        Ok(Script::once(requests?))
    };
    let batch = |number: usize| {
        let first = |connection| (number * CONNECTIONS + connection) * each;
        (0..CONNECTIONS).map(|it| script(first(it))).collect()
    };
    (0..=ROUNDS).map(batch).collect()
}

fn compared(
    row: (&'static str, &'static str),
    (how, bearer): (&str, &Bearer),
    without: &Bearer,
) -> Figure {
    let more = differences(&bearer.cost(), &without.cost());
    let alone = ratio(&without.cost(), &bearer.cost());
    let mut parts = vec![
        Part::new("the servers' processor time alone", alone, "×"),
        Part::new("processor beyond that without access", median(more), "µs"),
    ];
    parts.extend(told(how, bearer));
    let value = ratio(&bearer.per_second(), &without.per_second());
    Figure::told(row, value, "×", parts)
}

fn differences(more: &[f64], less: &[f64]) -> Vec<f64> {
    more.iter()
        .zip(less)
        .map(|(more, less)| more - less)
        .collect()
}

fn told(how: &str, bearer: &Bearer) -> Vec<Part> {
    let part = |what: &str, values, unit| Part::new(format!("{how}{what}"), median(values), unit);
    vec![
        part("", bearer.per_second(), "/s"),
        part(", processor", bearer.cost(), "µs"),
        part(", median", bearer.percentile(50), "ms"),
        part(", p99", bearer.percentile(99), "ms"),
    ]
}
