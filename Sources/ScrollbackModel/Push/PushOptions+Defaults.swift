extension PushOptions {
    /// Returns these options, completed by the values of `defaults` that these lack.
    ///
    /// The configuration of a message takes precedence over its arguments: `configuration.withDefaults(from:
    /// arguments)`.
    public func withDefaults(from defaults: PushOptions) -> PushOptions {
        var merged = self
        merged.title = title ?? defaults.title
        merged.text = text ?? defaults.text
        merged.data = data ?? defaults.data
        merged.templateID = templateID ?? defaults.templateID
        merged.hidesTitle = hidesTitle ?? defaults.hidesTitle
        merged.forcesDetail = forcesDetail ?? defaults.forcesDetail
        merged.ios = ios ?? defaults.ios
        merged.android = android ?? defaults.android
        merged.harmony = harmony ?? defaults.harmony
        return merged
    }
}
