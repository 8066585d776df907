//! The regions and the distances between them.

use std::time::Duration;

/// A region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    Washington,
    Frankfurt,
    London,
    Tokyo,
    Sydney,
    SaoPaulo,
}

/// Round trips in milliseconds, from the row's region to the column's, in the order of [`Region`]:
/// averages of 28 September to 27 October 2024, from the latencies that IBM Cloud publishes for the
/// regions of its VPC (<https://cloud.ibm.com/docs/vpc?topic=vpc-network-latency-dashboard>).
const ROUND_TRIPS: [[u64; 6]; 6] = [
    [0, 90, 76, 169, 213, 119],
    [92, 0, 13, 231, 250, 197],
    [76, 13, 0, 242, 261, 188],
    [167, 231, 243, 0, 115, 283],
    [214, 250, 261, 115, 0, 328],
    [119, 198, 188, 287, 327, 0],
];

impl Region {
    /// The region of the primary.
    pub(crate) const HOME: Self = Self::Washington;
    /// The regions with a node and a replica.
    pub(crate) const FAR: [Self; 3] = [Self::Frankfurt, Self::Tokyo, Self::Sydney];
    /// The regions with clients alone, which use the nearest node.
    pub(crate) const WITHOUT_NODE: [Self; 2] = [Self::London, Self::SaoPaulo];

    /// All regions, beginning with the home region.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let far = Self::FAR.into_iter().chain(Self::WITHOUT_NODE);
        std::iter::once(Self::HOME).chain(far)
    }

    /// The display name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Washington => "Washington",
            Self::Frankfurt => "Frankfurt",
            Self::London => "London",
            Self::Tokyo => "Tokyo",
            Self::Sydney => "Sydney",
            Self::SaoPaulo => "São Paulo",
        }
    }

    /// The region of the nearest node.
    pub(crate) fn nearest_node(self) -> Self {
        let nodes = std::iter::once(Self::HOME).chain(Self::FAR);
        nodes
            .min_by_key(|node| self.round_trip(*node))
            .unwrap_or(Self::HOME)
    }

    /// The published round trip to another region; 0 within a region.
    pub(crate) const fn round_trip(self, other: Self) -> Duration {
        Duration::from_millis(ROUND_TRIPS[self as usize][other as usize])
    }

    /// The round trip of a client to its node.
    pub(crate) fn to_node(self) -> Duration {
        self.round_trip(self.nearest_node())
    }

    /// The round trip of a client to the home region, through its node.
    pub(crate) fn to_home(self) -> Duration {
        self.to_node() + Self::HOME.round_trip(self.nearest_node())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_use_the_nearest_node() {
        let nearest = |region: Region| region.nearest_node();
        assert_eq!(nearest(Region::Tokyo), Region::Tokyo);
        assert_eq!(nearest(Region::London), Region::Frankfurt);
        assert_eq!(nearest(Region::SaoPaulo), Region::Washington);
    }

    #[test]
    fn the_way_home_leads_through_the_node() {
        let to_home = |region: Region| region.to_home().as_millis();
        assert_eq!(to_home(Region::Washington), 0);
        assert_eq!(to_home(Region::Sydney), 213);
        assert_eq!(to_home(Region::London), 13 + 90);
        assert_eq!(to_home(Region::SaoPaulo), 119);
    }
}
