use super::*;

#[test]
fn the_documented_forms_are_accepted() {
    for url in [
        "redis://localhost",
        "redis://:secret@localhost:6380/2",
        "rediss://ada:s%40cret@redis.example.org:6380",
        "valkey://[::1]:6379",
        "valkeys://localhost",
        "redis-sentinel://one,two:26380,[::1]/primary",
        "rediss-sentinel://ada:secret@one/primary/3?sentinel_password=other",
        "redis-cluster://:secret@one:7000,two:7001",
        "valkeys-cluster://one",
    ] {
        parse(url).map(drop).expect(url);
    }
}

#[test]
fn other_forms_are_rejected() {
    for url in [
        "",
        "localhost:6379",
        "http://localhost",
        "redis://",
        "redis://one,two",
        "redis://localhost/primary",
        "redis://localhost/1/2",
        "redis://localhost#1",
        "redis://localhost?sslrootcert=/dev/null",
        "rediss://localhost?sslrootcert=/no/such/file",
        "redis://localhost?insecure=true",
        "redis://localhost?sentinel_password=x",
        "redis://:pass?word@localhost",
        "redis-sentinel://one",
        "redis-sentinel://one,/primary",
        "redis-cluster://one/1",
        "redis-ring://one",
    ] {
        assert!(parse(url).is_err(), "{url}");
    }
}

#[test]
fn no_message_contains_a_password() {
    for url in [
        "redis://:hidden@host:port",
        "redis://:hid?den@host",
        "redis://:hid/den@host",
        "redis-cluster://:hidden@one:x",
        "redis-sentinel://:hidden@one",
    ] {
        let Err(error) = parse(url) else {
            panic!("{url} was accepted");
        };
        let text = ports::error::with_causes(&error);
        assert!(!text.contains("hid"), "{text}");
    }
}
