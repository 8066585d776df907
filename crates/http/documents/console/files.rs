//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-YHfcqeAV.js", include_bytes!("assets/feed-YHfcqeAV.js")),
    ("assets/files-B2zFz4vY.js", include_bytes!("assets/files-B2zFz4vY.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("assets/index-pM1724__.js", include_bytes!("assets/index-pM1724__.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
