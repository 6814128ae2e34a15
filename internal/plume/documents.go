package plume

// IDs head every JSON document of a result.
type IDs struct {
	Basin    string `json:"riverbasin_id"`
	Scenario string `json:"scenario_id"`
	JobID    string `json:"job_id"`
}

// EdgeDocument is edge_timeseries.json.
type EdgeDocument struct {
	IDs
	ToleranceMgL float64      `json:"tolerance_mg_l"`
	Series       []EdgeSeries `json:"series"`
}

// BalanceDocument is mass_balance.json.
type BalanceDocument struct {
	IDs
	Balance
}

// IntakeDocument is intakes.json. Intakes is empty, not nil, where the index has
// no intake: readers expect a list.
type IntakeDocument struct {
	IDs
	Intakes []Intake `json:"intakes"`
}
