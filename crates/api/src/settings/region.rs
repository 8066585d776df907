//! Settings of regions.

use std::time::Duration;

use domain::{
    RegionKey, RegionName, period::Period, region::MIN_KEY_LENGTH, web_address::is_base_address,
};

use super::{DatabaseKind, DatabaseUrl, named::NamedSettings, values::Values};

const NAME: &str = "REGION__NAME";
const HOME_URL: &str = "REGION__HOME_URL";
const KEY: &str = "REGION__KEY";
const OFFLINE_FOR: &str = "REGION__OFFLINE_FOR";
const FAR_KEYS: &str = "REGIONS__<ID>__KEYS";
const FAR_URL: &str = "REGIONS__<ID>__URL";

/// The default time for which access goes on without the home region.
const DEFAULT_OFFLINE: Duration = Duration::from_mins(1);
/// The maximum time for which access goes on: revoked credentials are accepted for that long.
const MAX_OFFLINE: Duration = Duration::from_hours(24);

/// Settings of regions. All are absent in a service of one region.
#[derive(Debug, Clone, Default)]
pub struct RegionSettings {
    /// `REGION__NAME`: the name of this region.
    pub name: Option<RegionName>,
    /// `REGION__HOME_URL` and what belongs to it, at a node of a far region.
    pub home: Option<HomeSettings>,
    /// `REGIONS__…`: the far regions of this home region.
    pub far: Vec<FarRegion>,
}

/// The home region, as a node of a far region reaches it.
#[derive(Debug, Clone)]
pub struct HomeSettings {
    /// `REGION__NAME`, which a far region needs.
    pub region: RegionName,
    /// `REGION__HOME_URL`: the base URL of the home region.
    pub url: String,
    /// `REGION__KEY`: signs requests to the home region.
    pub key: RegionKey,
    /// `REGION__OFFLINE_FOR`: the time for which access goes on without the home region.
    pub offline_for: Duration,
}

/// A far region of this home region.
#[derive(Debug, Clone)]
pub struct FarRegion {
    /// The name.
    pub name: RegionName,
    /// `REGIONS__<ID>__KEYS`: the keys that it may use.
    pub keys: Vec<RegionKey>,
    /// `REGIONS__<ID>__URL`: the public base URL.
    pub url: String,
}

impl RegionSettings {
    pub(super) fn read(values: &mut Values, database: &DatabaseUrl) -> Self {
        let form = "1 to 64 lower-case letters, digits and hyphens";
        let name = values.read_optional(NAME, form, |text| text.parse().ok());
        let home = read_home(values, database, name.clone());
        let far = values.read_named(&[FAR_KEYS, FAR_URL], read_far);
        let far: Vec<_> = far.into_iter().flatten().collect();
        if !far.is_empty() {
            values.require(NAME, "the name of this region, because REGIONS__… is set");
        }
        if !far.is_empty() && values.is_set(HOME_URL) {
            let expected = "absent at a home region, which REGIONS__… makes of this one";
            values.reject(HOME_URL, expected);
        }
        Self { name, home, far }
    }

    /// Returns true if the service has more than one region.
    pub fn are_configured(&self) -> bool {
        self.home.is_some() || !self.far.is_empty()
    }
}

fn read_home(
    values: &mut Values,
    database: &DatabaseUrl,
    name: Option<RegionName>,
) -> Option<HomeSettings> {
    let address = "the base URL of the home region: https, or http at a loopback address";
    let url = values.read_optional(HOME_URL, address, |text| {
        is_base_address(text).then(|| text.to_owned())
    });
    let secret = format!(
        "at least {MIN_KEY_LENGTH} visible ASCII characters without commas, one of \
         REGIONS__<ID>__KEYS of the home region"
    );
    let key = values.read_optional(KEY, &secret, RegionKey::parse);
    let offline_for = values.read(
        OFFLINE_FOR,
        Period(DEFAULT_OFFLINE),
        "a whole number followed by s, m or h, up to 24h",
        |text| Period::parse_in(text, Duration::ZERO..=MAX_OFFLINE),
    );
    if !values.is_set(HOME_URL) {
        if values.is_set(KEY) {
            values.reject(KEY, "absent without REGION__HOME_URL");
        }
        return None;
    }
    values.require(
        NAME,
        "the name of this region, because REGION__HOME_URL is set",
    );
    values.require(
        KEY,
        "the key of this region, because REGION__HOME_URL is set",
    );
    if database.kind() == DatabaseKind::Sqlite {
        let expected = "absent with a SQLite store, which has no replicas";
        values.reject(HOME_URL, expected);
    }
    Some(HomeSettings {
        region: name?,
        url: url?,
        key: key?,
        offline_for: offline_for.0,
    })
}

fn read_far(named: &mut NamedSettings<'_>) -> Option<FarRegion> {
    let secrets = "comma-separated keys of at least 32 visible ASCII characters";
    let keys = named.read_required(FAR_KEYS, secrets, |text| {
        text.split(',')
            .map(|key| RegionKey::parse(key.trim()))
            .collect()
    });
    let address = "the public base URL of the region, such as https://eu.example.org";
    let url = named.read_required(FAR_URL, address, |text| {
        is_base_address(text).then(|| text.to_owned())
    });
    // Names of variables have no hyphens.
    let name = named.name().replace('_', "-").parse().ok();
    if name.is_none() {
        let expected = "named by lower-case letters, digits and hyphens";
        named.reject(FAR_URL, expected);
    }
    Some(FarRegion {
        name: name?,
        keys: keys?,
        url: url?,
    })
}

#[cfg(test)]
mod tests {
    use crate::settings::{Settings, SettingsError};

    fn load(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::load(None, variables)
    }

    const POSTGRES: (&str, &str) = ("DATABASE_URL", "postgres://127.0.0.1/agents");
    const LONG: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_far_region_needs_name_key_and_postgres() {
        let settings = [
            ("REGION__NAME", "eu"),
            ("REGION__HOME_URL", "https://agents.example.org"),
            ("REGION__KEY", LONG),
        ];
        let loaded = load(&[&settings[..], &[POSTGRES]].concat()).unwrap();
        let home = loaded.region.home.unwrap();
        assert_eq!(home.region.as_str(), "eu");
        assert_eq!(home.offline_for.as_secs(), 60);
        assert!(load(&settings).is_err(), "SQLite has no replicas");
        for left_out in [0, 2] {
            let mut rest = settings.to_vec();
            rest.remove(left_out);
            rest.push(POSTGRES);
            assert!(load(&rest).is_err(), "without {}", settings[left_out].0);
        }
        assert!(load(&[("REGION__KEY", LONG)]).is_err());
    }

    #[test]
    fn a_home_region_knows_each_far_region_with_keys_and_url() {
        let keys = format!("{LONG},{LONG}x");
        let settings = [
            ("REGION__NAME", "us"),
            ("REGIONS__EU__KEYS", &keys),
            ("REGIONS__EU__URL", "https://eu.example.org"),
        ];
        let loaded = load(&settings).unwrap();
        assert!(loaded.region.are_configured());
        let [eu] = &loaded.region.far[..] else {
            panic!("one far region")
        };
        assert_eq!((eu.name.as_str(), eu.keys.len()), ("eu", 2));
        let west = [
            ("REGION__NAME", "us"),
            ("REGIONS__EU_WEST__KEYS", LONG),
            ("REGIONS__EU_WEST__URL", "https://eu-west.example.org"),
        ];
        let loaded = load(&west).unwrap();
        assert_eq!(loaded.region.far[0].name.as_str(), "eu-west");
        for left_out in 0..settings.len() {
            let mut rest = settings.to_vec();
            rest.remove(left_out);
            assert!(load(&rest).is_err(), "without {}", settings[left_out].0);
        }
        assert!(!load(&[]).unwrap().region.are_configured());
    }
}
