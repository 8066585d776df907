//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-C8Iw5rBn.js", include_bytes!("assets/feed-C8Iw5rBn.js")),
    ("assets/index-VRPtV6jU.js", include_bytes!("assets/index-VRPtV6jU.js")),
    ("assets/index-eFhCWEcW.css", include_bytes!("assets/index-eFhCWEcW.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
