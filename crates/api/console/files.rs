//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CpqSBMBa.js", include_bytes!("assets/feed-CpqSBMBa.js")),
    ("assets/index-BFO1xszX.css", include_bytes!("assets/index-BFO1xszX.css")),
    ("assets/index-eRRvnP3e.js", include_bytes!("assets/index-eRRvnP3e.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
