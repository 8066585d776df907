use super::*;

/// The parameters for `sqlx`, as `name=value` in lines.
fn read(rest: &str) -> String {
    let PostgresUrl { url, .. } = parse(rest).unwrap_or_else(|error| panic!("{rest}: {error}"));
    let query = url.strip_prefix(PREFIX).unwrap();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let lines: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    lines.join("\n")
}

fn password(rest: &str) -> String {
    let parts = read(rest);
    let mut lines = parts.lines();
    let found = lines.find_map(|line| line.strip_prefix("password="));
    found.unwrap_or_default().to_owned()
}

/// The URLs in the manuals of providers, without their scheme.
const PROVIDERS: &[(&str, &str, &str)] = &[
    (
        "Neon",
        "ada:hidden@ep-cool-1.eu-central-1.aws.neon.tech/agents?sslmode=require&channel_binding=require",
        "user=ada\npassword=hidden\nhost=ep-cool-1.eu-central-1.aws.neon.tech\ndbname=agents\nsslmode=verify-full",
    ),
    (
        "Neon without SNI",
        "ada:hidden@db/agents?sslmode=require&options=endpoint%3Dep-cool-1",
        "user=ada\npassword=hidden\nhost=db\ndbname=agents\noptions=endpoint=ep-cool-1\nsslmode=require",
    ),
    (
        "Supabase",
        "postgres.reference:hidden@aws-0-eu-central-1.pooler.supabase.com:5432/postgres",
        "user=postgres.reference\npassword=hidden\nhost=aws-0-eu-central-1.pooler.supabase.com\nport=5432\ndbname=postgres",
    ),
    (
        "Railway",
        "postgres:hidden@postgres.railway.internal:5432/railway",
        "user=postgres\npassword=hidden\nhost=postgres.railway.internal\nport=5432\ndbname=railway",
    ),
    (
        "Render",
        "ada:hidden@dpg-abc123-a/agents_x1y2",
        "user=ada\npassword=hidden\nhost=dpg-abc123-a\ndbname=agents_x1y2",
    ),
    (
        "Amazon RDS",
        "ada:hidden@a.b.eu-central-1.rds.amazonaws.com:5432/agents?sslmode=verify-full&sslrootcert=/certs/global-bundle.pem",
        "user=ada\npassword=hidden\nhost=a.b.eu-central-1.rds.amazonaws.com\nport=5432\ndbname=agents\nsslrootcert=/certs/global-bundle.pem\nsslmode=verify-full",
    ),
    (
        "DigitalOcean",
        "doadmin:hidden@db-1.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require",
        "user=doadmin\npassword=hidden\nhost=db-1.b.db.ondigitalocean.com\nport=25060\ndbname=defaultdb\nsslmode=require",
    ),
    (
        "Azure",
        "ada@server:hidden@server.postgres.database.azure.com:5432/agents?sslmode=require",
        "user=ada@server\npassword=hidden\nhost=server.postgres.database.azure.com\nport=5432\ndbname=agents\nsslmode=require",
    ),
    (
        "Azure, escaped",
        "ada%40server:hidden@server.postgres.database.azure.com/agents",
        "user=ada@server\npassword=hidden\nhost=server.postgres.database.azure.com\ndbname=agents",
    ),
    (
        "Google Cloud SQL",
        "ada:hidden@/agents?host=/cloudsql/project:region:instance",
        "user=ada\npassword=hidden\ndbname=agents\nhost=/cloudsql/project:region:instance\nsslmode=disable",
    ),
    (
        "Fly.io",
        "ada:hidden@agents-db.flycast:5432/agents?sslmode=disable",
        "user=ada\npassword=hidden\nhost=agents-db.flycast\nport=5432\ndbname=agents\nsslmode=disable",
    ),
    (
        "Aiven",
        "avnadmin:hidden@pg-1.aivencloud.com:12691/defaultdb?sslmode=require",
        "user=avnadmin\npassword=hidden\nhost=pg-1.aivencloud.com\nport=12691\ndbname=defaultdb\nsslmode=require",
    ),
];

#[test]
fn the_urls_in_the_manuals_of_providers_are_accepted() {
    for (provider, url, expected) in PROVIDERS {
        assert_eq!(read(url), *expected, "{provider}");
    }
}

#[test]
fn parts_are_read_as_by_psql() {
    for (url, expected) in [
        ("", ""),
        ("db", "host=db"),
        ("[::1]:5433/agents", "host=::1\nport=5433\ndbname=agents"),
        ("db:/agents", "host=db\ndbname=agents"),
        (":5433", "port=5433"),
        (
            "%2Frun%2Fpostgresql/agents",
            "host=/run/postgresql\ndbname=agents\nsslmode=disable",
        ),
        (
            "/agents?host=%2Frun%2Fpostgresql&port=5433&sslmode=require",
            "dbname=agents\nhost=/run/postgresql\nport=5433\nsslmode=disable",
        ),
        // The last one counts, and an address replaces a name.
        (
            "ada@db:1/agents?hostaddr=10.0.0.7&port=2&user=bea&dbname=more&host=other",
            "port=2\nuser=bea\ndbname=more\nhost=other\nhostaddr=10.0.0.7",
        ),
        ("db/a%2Fb#c", "host=db\ndbname=a/b#c"),
        ("db?password=a+b%26c", "host=db\npassword=a+b&c"),
        ("db?ssl=true", "host=db\nsslmode=require"),
        ("db?ssl-mode=Require", "host=db\nsslmode=require"),
        ("db?sslmode=allow", "host=db\nsslmode=prefer"),
        ("db?sslrootcert=system", "host=db\nsslmode=verify-full"),
        (
            "db?sslmode=require&sslrootcert=/ca.pem",
            "host=db\nsslrootcert=/ca.pem\nsslmode=verify-ca",
        ),
        (
            "db?options=-c%20jit%3Doff&options[geqo]=off&options[jit]=on",
            "host=db\noptions=-c jit=off\noptions[geqo]=off\noptions[jit]=on",
        ),
    ] {
        assert_eq!(read(url), expected, "{url}");
    }
}

#[test]
fn a_password_may_contain_every_character_except_a_slash() {
    for (url, expected) in [
        ("ada:hid#den@db/agents", "hid#den"),
        ("ada:hid?den@db/agents", "hid?den"),
        ("ada:hid?den#x@db", "hid?den#x"),
        ("ada:hid@den@db/agents", "hid@den"),
        ("ada:hid:den@db/agents", "hid:den"),
        ("ada:hid den$ü&=+@db/agents", "hid den$ü&=+"),
        ("ada:hid%xden@db/agents", "hid%xden"),
        ("ada:100%@db/agents", "100%"),
        ("ada:hid%2Fden%23%3f@db/agents", "hid/den#?"),
        ("ada:hidden@db?host=/run&password=a/b?c", "a/b?c"),
    ] {
        assert_eq!(password(url), expected, "{url}");
    }
}

#[test]
fn a_url_that_cannot_work_is_rejected_with_the_reason_and_without_its_secrets() {
    for (url, reason) in [
        ("ada:secret/den@db/agents", SLASH),
        ("ada:secret@db:port/agents", PORT),
        ("ada:1/secret@db/agents", SLASH),
        ("ada:secret@db:0/agents", PORT),
        ("ada:secret@db:65536/agents", PORT),
        ("ada:secret@db/agents?port=x", PORT),
        ("ada:secret@one,two/agents", ONE_HOST),
        ("ada:secret@one:5432,two:5432/agents", ONE_HOST),
        ("ada:secret@/agents?host=one,two&port=1,2", ONE_HOST),
        ("db?hostaddr=10.0.0.1,10.0.0.2", ONE_HOST),
        ("ada:secret%00@db", TEXT),
        ("ada:secret%den@db", TEXT),
        ("db?hostaddr=10.0.0.1&sslmode=verify-full", NAME_AND_ADDRESS),
        (
            "/agents?host=/run/secret&hostaddr=10.0.0.1",
            SOCKET_AND_ADDRESS,
        ),
        ("%2Frun/agents?hostaddr=10.0.0.1", SOCKET_AND_ADDRESS),
        ("db/agents?sslmode=secret", FORM),
        ("db/agents?sslmode=", FORM),
        ("db/agents?sslmod=verify-full", FORM),
        ("db/agents?SSLMODE=verify-full", FORM),
        ("db/agents?ssl=1", FORM),
        ("db/agents?channel_binding=secret", FORM),
        ("db/agents?hostaddr=db", FORM),
        ("db/agents?options[geqo=off", FORM),
        ("db/agents?password=a&secret", FORM),
        ("db/agents?statement-cache-capacity=x", FORM),
    ] {
        assert_eq!(parse(url), Err(reason.into()), "{url}");
        assert!(!reason.contains("secret"));
    }
}

#[test]
fn a_parameter_of_psql_is_used_ignored_or_rejected_by_its_name() {
    for (url, ignored) in [
        (
            "db?connect_timeout=10&keepalives=1&target_session_attrs=read-write",
            &["connect_timeout", "keepalives", "target_session_attrs"][..],
        ),
        ("db?channel_binding=prefer", &["channel_binding"]),
        ("db?gssencmode=disable", &["gssencmode"]),
        (
            "db?ssl_min_protocol_version=TLSv1.2",
            &["ssl_min_protocol_version"],
        ),
        ("db?application_name=agents", &[]),
    ] {
        assert_eq!(parse(url).unwrap().ignored, ignored, "{url}");
    }
    for name in [
        "passfile=/pgpass",
        "service=agents",
        "require_auth=scram-sha-256",
        "requirepeer=postgres",
        "sslcrl=/crl.pem",
        "sslpassword=secret",
        "gssencmode=require",
        "sslnegotiation=direct",
        "ssl_min_protocol_version=TLSv1.3",
    ] {
        let error = parse(&format!("db?{name}")).unwrap_err();
        let (name, value) = name.split_once('=').unwrap();
        let expected = format!("a URL without the parameter {name}, which");
        assert!(error.starts_with(&expected), "{error}");
        assert!(!error.contains(value), "{error}");
    }
}
