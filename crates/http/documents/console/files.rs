//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DtQ6rduT.js", include_bytes!("assets/feed-DtQ6rduT.js")),
    ("assets/files-K6lH94yi.js", include_bytes!("assets/files-K6lH94yi.js")),
    ("assets/index-Dv0cVr3L.js", include_bytes!("assets/index-Dv0cVr3L.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
