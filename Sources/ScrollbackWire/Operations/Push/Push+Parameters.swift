package import ScrollbackModel

extension PushService: ChoiceParameterValue {
    // The documentation's example is a registration with all members, and only Web Push has keys.
    package static var example: String { #""web""# }
}
