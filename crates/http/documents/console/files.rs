//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DSbOI6F4.js", include_bytes!("assets/feed-DSbOI6F4.js")),
    ("assets/index-B0QRt6V2.js", include_bytes!("assets/index-B0QRt6V2.js")),
    ("assets/index-CoOxEpxp.css", include_bytes!("assets/index-CoOxEpxp.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
