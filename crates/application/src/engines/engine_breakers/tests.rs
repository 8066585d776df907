use super::*;

fn tenant(name: &str) -> TenantId {
    name.parse().unwrap()
}

fn time_out(attempt: &AttemptBreakers, times: u32) {
    for _ in 0..times {
        if let Ok(permit) = attempt.enter() {
            permit.timed_out();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_one_tenant_open_the_breaker_for_that_tenant_alone() {
    let breakers = EngineBreakers::new("llm".to_owned());
    let hostile = breakers.of(&tenant("hostile"), None, Timeouts::Counted);
    let other = breakers.of(&tenant("other"), None, Timeouts::Counted);
    time_out(&hostile, 100);
    assert!(hostile.enter().is_err() && breakers.is_open(&tenant("hostile")));
    assert!(other.enter().is_ok() && !breakers.is_open(&tenant("other")));
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_two_tenants_open_the_breaker_for_all() {
    let breakers = EngineBreakers::new("llm".to_owned());
    for name in ["a", "b"] {
        time_out(&breakers.of(&tenant(name), None, Timeouts::Counted), 10);
    }
    assert!(
        breakers
            .of(&tenant("c"), None, Timeouts::Counted)
            .enter()
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn failures_open_the_breaker_of_one_model_for_all_tenants() {
    let breakers = EngineBreakers::new("llm".to_owned());
    let model = breakers.of(&tenant("a"), Some("large"), Timeouts::Counted);
    for _ in 0..20 {
        model.enter().ok().unwrap().failed();
    }
    let of = |model| breakers.of(&tenant("b"), model, Timeouts::Counted).enter();
    assert!(of(Some("large")).is_err());
    assert!(of(Some("small")).is_ok() && of(None).is_ok());
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_an_immediate_engine_are_not_counted() {
    let breakers = EngineBreakers::new("rules".to_owned());
    for name in ["a", "b"] {
        let attempt = breakers.of(&tenant(name), None, Timeouts::Ignored);
        time_out(&attempt, 100);
        assert!(attempt.enter().is_ok());
    }
}

#[test]
fn the_number_of_breakers_is_bounded() {
    let breakers = EngineBreakers::new("llm".to_owned());
    for number in 0..3_000 {
        breakers.of(&tenant("a"), Some(&number.to_string()), Timeouts::Counted);
    }
    assert!(breakers.by_key.len() <= MAX_BREAKERS);
}
